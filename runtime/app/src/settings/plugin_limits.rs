//! `[limits.plugin]`, `[plugins.limits."ns:name"]` and a project's `limits.plugin`: what plugins may use, by the names of
//! [`LIMITS`].

use std::borrow::Cow;
use std::fmt;

use acp_runtime_host::limits::{Kind, LIMITS, Limit, LimitTable, Limits, Unit};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Limits of plugins that somebody has set. With `ALL`, those that are one for all plugins are among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginLimits<const ALL: bool>(LimitTable);

impl<const ALL: bool> PluginLimits<ALL> {
    /// What is set.
    pub fn table(&self) -> &LimitTable {
        &self.0
    }

    /// Those that can be set here.
    fn known() -> impl Iterator<Item = &'static Limit> {
        LIMITS.iter().filter(|limit| ALL || limit.kind != Kind::Shared)
    }
}

impl PluginLimits<false> {
    /// What of these is narrower than `usual`, and the others: each with the amount here and there, as they are written.
    pub fn narrower_than(&self, usual: &Limits) -> (LimitTable, Vec<(&'static str, String, String)>) {
        let (mut narrower, mut wider) = (LimitTable::default(), Vec::new());
        for (limit, amount) in self.0.iter() {
            let ours = limit.of(usual);
            if !limit.narrows(amount, ours) || !narrower.set(limit, amount) {
                let shown = |amount| written(limit, amount).to_string();
                wider.push((limit.name, shown(amount), shown(ours)));
            }
        }
        (narrower, wider)
    }
}

/// An amount as it stands in a file.
fn written(limit: &Limit, amount: u64) -> Value {
    match limit.unit {
        Unit::Count | Unit::Bytes | Unit::Milliseconds => amount.into(),
        Unit::Seconds if amount.is_multiple_of(1000) => (amount / 1000).into(),
        Unit::Seconds => seconds(amount).into(),
    }
}

fn seconds(milliseconds: u64) -> f64 {
    std::time::Duration::from_millis(milliseconds).as_secs_f64()
}

/// Reads the amount of a limit.
struct AmountOf(&'static Limit);

impl AmountOf {
    fn within<E: Error>(&self, amount: Option<u64>, shown: &dyn fmt::Display) -> Result<u64, E> {
        let Limit { range, .. } = self.0;
        amount.filter(|amount| range.contains(amount)).ok_or_else(|| {
            let (least, most) = (written(self.0, *range.start()), written(self.0, *range.end()));
            let unit = match self.0.unit {
                Unit::Count => "",
                Unit::Bytes => " bytes",
                Unit::Seconds => " seconds",
                Unit::Milliseconds => " milliseconds",
            };
            E::custom(format!("`{shown}` is out of range: {least} to {most}{unit}"))
        })
    }
}

impl<'de> DeserializeSeed<'de> for AmountOf {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for AmountOf {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.unit == Unit::Seconds { "a number" } else { "a whole number" })
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        let whole = u64::try_from(number).ok();
        let amount = if self.0.unit == Unit::Seconds { whole.and_then(|whole| whole.checked_mul(1000)) } else { whole };
        self.within(amount, &number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        if self.0.unit != Unit::Seconds {
            return Err(E::invalid_type(serde::de::Unexpected::Float(number), &self));
        }
        let time = std::time::Duration::try_from_secs_f64(number).ok();
        self.within(time.and_then(|time| u64::try_from(time.as_millis()).ok()), &number)
    }
}

impl<'de, const ALL: bool> Deserialize<'de> for PluginLimits<ALL> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Table<const ALL: bool>;

        impl<'de, const ALL: bool> Visitor<'de> for Table<ALL> {
            type Value = PluginLimits<ALL>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PluginLimits<ALL>, A::Error> {
                let mut table = LimitTable::default();
                while let Some(limit) = map.next_key_seed(Name::<ALL>)? {
                    let amount = map.next_value_seed(AmountOf(limit))?;
                    if !table.set(limit, amount) {
                        return Err(A::Error::custom("it is out of range"));
                    }
                }
                Ok(PluginLimits(table))
            }
        }

        deserializer.deserialize_map(Table::<ALL>)
    }
}

/// Reads the name of a limit.
struct Name<const ALL: bool>;

impl<'de, const ALL: bool> DeserializeSeed<'de> for Name<ALL> {
    type Value = &'static Limit;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static Limit, D::Error> {
        let name = String::deserialize(deserializer)?;
        PluginLimits::<ALL>::known().find(|limit| limit.name == name).ok_or_else(|| {
            let known: Vec<&str> = PluginLimits::<ALL>::known().map(|limit| limit.name).collect();
            // In serde's own words, which are made ours where a file is parsed.
            D::Error::custom(format!("unknown field `{name}`, expected one of `{}`", known.join("`, `")))
        })
    }
}

impl<const ALL: bool> Serialize for PluginLimits<ALL> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (limit, amount) in self.0.iter() {
            map.serialize_entry(limit.name, &written(limit, amount))?;
        }
        map.end()
    }
}

impl<const ALL: bool> JsonSchema for PluginLimits<ALL> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        if ALL { "PluginLimits" } else { "OwnLimits" }.into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        let one = |limit: &Limit| {
            let kind = if limit.unit == Unit::Seconds { "number" } else { "integer" };
            let (least, most) = (written(limit, *limit.range.start()), written(limit, *limit.range.end()));
            let default = written(limit, limit.default_amount());
            serde_json::json!({
                "description": limit.what, "type": kind, "minimum": least, "maximum": most, "default": default,
            })
        };
        let properties: Map<String, Value> = Self::known().map(|limit| (limit.name.to_owned(), one(limit))).collect();
        json_schema!({ "type": "object", "properties": properties, "additionalProperties": false })
    }
}
