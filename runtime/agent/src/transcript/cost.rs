//! What model requests cost, where their price is known.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Usage;

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Never negative.
    pub amount: f64,
    /// An ISO 4217 code such as `USD`, or another unit such as `credits`.
    pub currency: Arc<str>,
}

/// What a model costs: for a million tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// Of a request.
    pub input: f64,
    /// Of a request, where the provider had them cached.
    pub cached: f64,
    /// Of an answer.
    pub output: f64,
    /// See [`Cost::currency`].
    pub currency: Arc<str>,
}

impl Price {
    /// What a request with these tokens costs.
    #[expect(clippy::cast_precision_loss, reason = "no request has 2^53 tokens")]
    pub fn of(&self, usage: &Usage) -> Cost {
        const MILLION: f64 = 1_000_000.0;
        let cached = usage.cached.min(usage.input);
        let parts = [(usage.input - cached, self.input), (cached, self.cached), (usage.output, self.output)];
        let amount: f64 = parts.into_iter().map(|(tokens, price)| tokens as f64 * price / MILLION).sum();
        Cost { amount: finite(amount), currency: self.currency.clone() }
    }
}

/// What a session has cost until now, in each currency.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spending(Vec<Cost>);

impl Spending {
    /// Adds a request; one without a price adds nothing.
    pub fn add(&mut self, usage: &Usage) {
        let Some(cost) = &usage.cost else { return };
        let known = self.0.iter().position(|known| known.currency == cost.currency);
        let mut all =
            known.map_or_else(|| Cost { amount: 0.0, currency: cost.currency.clone() }, |at| self.0.remove(at));
        all.amount = rounded(all.amount + cost.amount);
        self.0.push(all);
    }

    /// The sum in the currency that was used last; none where no price was ever known.
    pub fn latest(&self) -> Option<&Cost> {
        self.0.last()
    }

    /// The sum in every currency, the one that was used last at the end.
    pub fn all(&self) -> &[Cost] {
        &self.0
    }
}

/// To a billionth, so that sums look like what was added. What is too large for that stays as it is, and finite: JSON knows
/// no other numbers.
fn rounded(amount: f64) -> f64 {
    const BILLION: f64 = 1e9;
    let billionths = (amount * BILLION).round();
    if billionths.is_finite() { billionths / BILLION } else { finite(amount) }
}

/// The largest number in the place of what is larger than any.
fn finite(amount: f64) -> f64 {
    amount.min(f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price() -> Price {
        Price { input: 1.25, cached: 0.125, output: 10.0, currency: "USD".into() }
    }

    fn cost(amount: f64, currency: &str) -> Usage {
        Usage { cost: Some(Cost { amount, currency: currency.into() }), ..Usage::default() }
    }

    #[test]
    fn every_token_has_its_price() {
        for (input, cached, output, amount) in [
            (0, 0, 0, 0.0),
            (1_000_000, 0, 0, 1.25),
            (1_000_000, 1_000_000, 0, 0.125),
            (1_000_000, 500_000, 100_000, 0.625 + 0.0625 + 1.0),
            // A provider that counts the cached ones apart.
            (10, 1_000_000, 0, 0.000_001_25),
        ] {
            let usage = Usage { input, output, cached, ..Usage::default() };
            let cost = price().of(&usage);
            assert!((cost.amount - amount).abs() < 1e-12, "{usage:?}: {cost:?}");
        }
    }

    #[test]
    fn sums_stay_finite() {
        let mut spending = Spending::default();
        for _ in 0..3 {
            spending.add(&cost(1e308, "USD"));
        }
        assert_eq!(spending.latest().unwrap().amount.to_bits(), f64::MAX.to_bits());
        let dear = Price { input: f64::MAX, ..price() };
        let usage = Usage { input: u64::MAX, ..Usage::default() };
        assert!(dear.of(&usage).amount.is_finite());
    }

    #[test]
    fn requests_add_up_in_each_currency() {
        let mut spending = Spending::default();
        spending.add(&Usage::default());
        assert_eq!(spending.latest(), None);
        for usage in [cost(0.1, "USD"), cost(5.0, "credits"), cost(0.2, "USD")] {
            spending.add(&usage);
        }
        assert_eq!(spending.latest(), Some(&Cost { amount: 0.3, currency: "USD".into() }));
        assert_eq!(spending.all().len(), 2);
    }
}
