"""OpenMM: forces in a box of water by OpenCL, against its reference platform; then 100 steps."""

import numpy as np
import openmm
from openmm import app, unit

field = app.ForceField("amber14-all.xml", "amber14/tip3p.xml")
model = app.Modeller(app.Topology(), [])
model.addSolvent(field, boxSize=openmm.Vec3(2.6, 2.6, 2.6) * unit.nanometer)
system = field.createSystem(model.topology, nonbondedMethod=app.PME, nonbondedCutoff=1 * unit.nanometer, constraints=app.HBonds)
forces = {}
for name in ("Reference", "OpenCL"):
    integrator = openmm.LangevinMiddleIntegrator(300 * unit.kelvin, 1 / unit.picosecond, 2 * unit.femtosecond)
    context = openmm.Context(system, integrator, openmm.Platform.getPlatformByName(name))
    context.setPositions(model.positions)
    state = context.getState(getForces=True)
    forces[name] = state.getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer)
sizes = np.linalg.norm(forces["Reference"], axis=1)
error = np.median(np.linalg.norm(forces["OpenCL"] - forces["Reference"], axis=1) / np.maximum(sizes, 1e-3))
assert error < 1e-4, error
integrator.step(100)
energy = context.getState(getEnergy=True).getPotentialEnergy()
assert np.isfinite(energy.value_in_unit(unit.kilojoule_per_mole)), energy
print(f"{system.getNumParticles()} atoms: forces agree ({error:.1e}), energy after 100 steps {energy}")
