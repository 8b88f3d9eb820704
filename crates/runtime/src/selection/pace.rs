//! Running estimate of the time for a work-item, and detection of its lasting changes.

/// Factor by which the time for a work-item changes before the choice is examined again.
const SHIFT: f64 = 1.25;
/// Size of a window: this many launches that take this long, or however many take long.
const WINDOW_LAUNCHES: u32 = 16;
const WINDOW_TIME: f64 = 2e6;
const LONG_WINDOW: f64 = 50e6;
/// Number of windows that give the reference.
const REFERENCE_WINDOWS: u32 = 3;
/// Number of consecutive windows away from the reference that make a shift: at first, and after shifts that changed no choice.
const FIRST_PATIENCE: u32 = 2;
const MAX_PATIENCE: u32 = 16;

/// Time and work-items of some launches.
#[derive(Clone, Copy, Default, Debug)]
struct PaceWindow {
    launches: u32,
    time: f64,
    items: f64,
    /// Time and work-items of the launch that took longest for a work-item.
    slowest: [f64; 2],
}

impl PaceWindow {
    fn add(&mut self, time: f64, items: f64) {
        self.launches += 1;
        self.time += time;
        self.items += items;
        if time * self.slowest[1] >= self.slowest[0] * items {
            self.slowest = [time, items];
        }
    }

    fn is_full(&self) -> bool {
        self.launches >= WINDOW_LAUNCHES && self.time >= WINDOW_TIME || self.time >= LONG_WINDOW
    }

    /// Time for a work-item. Of several launches the slowest does not count: another process may have run during it.
    fn pace(&self) -> f64 {
        let [time, items] = if self.launches > 3 { self.slowest } else { [0.0; 2] };
        (self.time - time) / (self.items - items).max(1.0)
    }
}

/// Nanoseconds for a work-item, over the launches of one class by one code.
#[derive(Clone, Debug)]
pub(crate) struct PaceTracker {
    /// Estimate from recent launches.
    recent: Option<f64>,
    window: PaceWindow,
    /// Pace that the choice was made for, and the number of windows that it is the mean of.
    reference: f64,
    windows: u32,
    /// Number of consecutive windows above or below the reference (negative).
    away: i32,
    patience: u32,
}

impl Default for PaceTracker {
    fn default() -> Self {
        let (window, patience) = (PaceWindow::default(), FIRST_PATIENCE);
        PaceTracker { recent: None, window, reference: 0.0, windows: 0, away: 0, patience }
    }
}

impl PaceTracker {
    /// Tracker for a code that took so long in another process.
    pub(crate) fn of_reference(pace: f64) -> Self {
        PaceTracker {
            recent: Some(pace),
            reference: pace,
            windows: REFERENCE_WINDOWS,
            ..PaceTracker::default()
        }
    }

    /// Estimate for the next launch.
    pub(crate) fn recent(&self) -> Option<f64> {
        self.recent
    }

    /// Adds a launch. True if the pace has changed and stays so.
    pub(crate) fn add(&mut self, time: f64, items: f64) -> bool {
        let pace = time / items.max(1.0);
        self.recent = Some(match self.recent {
            Some(recent) if recent > 0.0 => recent * (pace / recent).clamp(0.7, 1.4).sqrt(),
            _ => pace,
        });
        self.window.add(time, items);
        if !self.window.is_full() {
            return false;
        }
        let pace = std::mem::take(&mut self.window).pace();
        if self.windows < REFERENCE_WINDOWS {
            self.reference = (self.reference * f64::from(self.windows) + pace) / f64::from(self.windows + 1);
            self.windows += 1;
            return false;
        }
        self.away = match pace / self.reference.max(f64::MIN_POSITIVE) {
            ratio if ratio > SHIFT => self.away.max(0) + 1,
            ratio if ratio < 1.0 / SHIFT => self.away.min(0) - 1,
            _ => 0,
        };
        self.away.unsigned_abs() >= self.patience
    }

    /// Begins anew with another code that takes `ratio` of the time.
    pub(crate) fn scale(&mut self, ratio: f64) {
        *self = PaceTracker { recent: self.recent.map(|pace| pace * ratio), ..PaceTracker::default() };
    }

    /// Takes the pace as it now is for the reference, after a shift. `has_changed` says that the shift before led to another choice;
    /// each that did not doubles the number of windows that the next one takes.
    pub(crate) fn restart(&mut self, has_changed: bool) {
        self.patience = if has_changed { FIRST_PATIENCE } else { (2 * self.patience).min(MAX_PATIENCE) };
        (self.window, self.windows, self.away) = (PaceWindow::default(), 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of launches of a microsecond for each of 100 work-items until a shift.
    fn launches_until_shift(tracker: &mut PaceTracker, pace: impl Fn(u32) -> f64) -> Option<u32> {
        (1..10_000).find(|&at| tracker.add(pace(at) * 1e5, 100.0))
    }

    #[test]
    fn lasting_changes_are_shifts() {
        let mut tracker = PaceTracker::default();
        assert_eq!(launches_until_shift(&mut tracker, |_| 1.0), None);
        // Single slow launches are none, nor are alternating ones.
        assert_eq!(launches_until_shift(&mut tracker, |at| if at % 19 == 0 { 90.0 } else { 1.0 }), None);
        let slower = launches_until_shift(&mut tracker.clone(), |_| 1.4).expect("a shift");
        assert!(slower <= 64, "{slower}");
        assert!(launches_until_shift(&mut tracker.clone(), |_| 0.7).is_some());
        assert_eq!(launches_until_shift(&mut tracker, |_| 1.2), None);
        let mut tracker = PaceTracker::default();
        assert_eq!(launches_until_shift(&mut tracker, |at| if at % 2 == 0 { 9.0 } else { 1.0 }), None);
    }

    #[test]
    fn long_launches_are_windows() {
        let mut tracker = PaceTracker::default();
        (0..REFERENCE_WINDOWS).for_each(|_| assert!(!tracker.add(1e9, 1e6)));
        assert!(!tracker.add(2e9, 1e6) && tracker.add(2e9, 1e6));
        tracker.restart(false);
        assert_eq!(tracker.patience, 2 * FIRST_PATIENCE);
    }
}
