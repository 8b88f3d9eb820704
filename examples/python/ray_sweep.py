"""A sweep over parameters on Ray: each task simulates many paths of a price in one call.

    pip install heddle_simd-0.2.0-py3-none-manylinux_2_36_x86_64.whl ray
    python ray_sweep.py
"""

import time

import heddle
import numpy as np
import ray

PAYOFF = heddle.vectorize("""
float payoff(uint seed, float volatility, float strike) {
    float price = 100, step = 1.0f / 64;
    for (int i = 0; i < 64; ++i) {
        seed ^= seed << 13; seed ^= seed >> 17; seed ^= seed << 5;
        float u = (seed >> 8) * 0x1p-24f + 0x1p-25f;
        seed ^= seed << 13; seed ^= seed >> 17; seed ^= seed << 5;
        float v = (seed >> 8) * 0x1p-24f;
        float normal = sqrt(-2 * log(u)) * cospi(2 * v);
        price *= exp(-0.5f * volatility * volatility * step + volatility * sqrt(step) * normal);
    }
    return fmax(price - strike, 0.0f);
}""")

PATHS = 1_000_000


def price(volatility: float, strike: float, paths: int) -> float:
    """Returns the mean payoff of an option."""
    seeds = np.arange(1, paths + 1, dtype=np.uint32) * np.uint32(2654435761)
    return float(PAYOFF(seeds, volatility, strike).mean(dtype=np.float64))


def main() -> None:
    """Prices a grid of options in one process, and on two workers."""
    grid = [(volatility, strike) for volatility in (0.1, 0.2, 0.4) for strike in (90, 100, 110)]
    start = time.perf_counter()
    wanted = [price(*point, PATHS) for point in grid]
    alone = time.perf_counter() - start
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    task = ray.remote(num_cpus=1)(price)
    # Workers start with their first tasks.
    ray.get([task.remote(*point, 1) for point in grid])
    start = time.perf_counter()
    prices = ray.get([task.remote(*point, PATHS) for point in grid])
    shared = time.perf_counter() - start
    assert prices == wanted, (prices, wanted)
    for (volatility, strike), value in zip(grid, prices):
        print(f"volatility {volatility:.1f}, strike {strike}: {value:.2f}")
    print(f"one process {alone:.2f} s, 2 workers {shared:.2f} s")
    # Black and Scholes: 7.97 for 0.2 at the money.
    assert abs(prices[4] - 7.97) < 0.15, prices[4]


if __name__ == "__main__":
    main()
