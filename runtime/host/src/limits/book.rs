//! Whose limits are what: the usual ones, what a plugin asks for, what is configured for all plugins and for single ones,
//! and what a project has narrowed.

use std::collections::BTreeMap;
use std::sync::Arc;

use acp_runtime_agent::capability::PluginId;

use super::{LimitTable, Limits, SpaceLimits};
use crate::manifest::AskedLimits;

/// The limits of all plugins.
#[derive(Debug, Clone, Default)]
pub struct LimitBook {
    usual: Limits,
    /// No plugin gets more of that by asking for it.
    all: LimitTable,
    single: BTreeMap<PluginId, LimitTable>,
}

/// How much room the engine has for each instance: the most that any plugin gets.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    pub(crate) memories: usize,
    pub(crate) tables: usize,
    pub(crate) table_elements: usize,
    pub(crate) instances: usize,
    /// Bytes of the stack of its functions.
    pub(crate) stack: usize,
}

impl Slots {
    /// For instances of that size.
    pub(crate) fn of(space: &SpaceLimits, stack: usize) -> Self {
        let SpaceLimits { memories, tables, table_elements, instances, .. } = *space;
        Self { memories, tables, table_elements, instances, stack }
    }
}

/// Where nothing is configured, and a plugin gets what it asks for.
impl From<Limits> for LimitBook {
    fn from(usual: Limits) -> Self {
        Self { usual, ..Self::default() }
    }
}

impl LimitBook {
    /// The usual limits with `all` in their place for every plugin, and with those of `single` for the plugins that are
    /// named there. What is set for all is also the most that a plugin gets by asking for it; what is set for a plugin
    /// holds whatever it asks for.
    pub fn new(all: LimitTable, single: BTreeMap<PluginId, LimitTable>) -> Self {
        let mut usual = Limits::default();
        with(&mut usual, &all);
        Self { usual, all, single }
    }

    /// Those of a plugin that asks for nothing and of which nothing is said.
    pub fn usual(&self) -> &Limits {
        &self.usual
    }

    /// Those of `plugin`, which asks for `asked`.
    pub(crate) fn of(&self, plugin: &PluginId, asked: &AskedLimits) -> Arc<Limits> {
        let mut limits = self.usual.clone();
        self.grant(asked, &mut limits);
        if let Some(own) = self.single.get(plugin) {
            with(&mut limits, own);
        }
        Arc::new(limits)
    }

    /// The most that any plugin gets of each kind of space, with a stack of so many bytes.
    pub(crate) fn widest(&self, stack: usize) -> Slots {
        let mut widest = Slots::of(&self.usual.space, stack);
        for own in self.single.values() {
            let mut limits = self.usual.clone();
            own.apply(&mut limits);
            widest.memories = widest.memories.max(limits.space.memories);
            widest.tables = widest.tables.max(limits.space.tables);
            widest.table_elements = widest.table_elements.max(limits.space.table_elements);
            widest.instances = widest.instances.max(limits.space.instances);
        }
        widest
    }

    /// What is asked for, as far as it may be had.
    fn grant(&self, asked: &AskedLimits, limits: &mut Limits) {
        let AskedLimits { memory, wall, cpu, data, tmp } = *asked;
        let Limits { space, time, folders, .. } = limits;
        self.give("memory", memory, &mut space.memory);
        self.give("wall_seconds", wall, &mut time.wall);
        self.give("cpu_seconds", cpu, &mut time.cpu);
        self.give("data", data, &mut folders.data);
        self.give("tmp", tmp, &mut folders.tmp);
    }

    fn give<T: Ord + Copy>(&self, name: &str, asked: Option<T>, limit: &mut T) {
        if let Some(asked) = asked {
            *limit = if self.all.has(name) { asked.min(*limit) } else { asked };
        }
    }
}

/// Whoever gives hooks more time gives them more for all that they wait for, too.
fn with(limits: &mut Limits, table: &LimitTable) {
    table.apply(limits);
    if table.has("hook_milliseconds") && !table.has("hook_wall_milliseconds") {
        limits.hook = limits.hook.clone().lasting(limits.hook.cpu);
    }
}

impl Limits {
    /// These, and of what `table` has the narrower of the two.
    #[must_use]
    pub(crate) fn narrowed(&self, table: &LimitTable) -> Self {
        let mut limits = self.clone();
        table.narrow(&mut limits);
        limits
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Limit, MIB};
    use super::*;

    fn table(set: &[(&str, u64)]) -> LimitTable {
        let mut table = LimitTable::default();
        for (name, amount) in set {
            assert!(table.set(Limit::named(name).unwrap(), *amount), "{name}");
        }
        table
    }

    #[test]
    fn what_is_set_for_all_ends_what_is_asked_for_and_what_is_set_for_one_is_what_it_has() {
        let id = PluginId::new("test:one").unwrap();
        let asked = AskedLimits { memory: Some(256 * MIB), cpu: Some(Duration::from_secs(20)), ..Default::default() };
        let memory = |all: &[(&str, u64)], own: &[(&str, u64)], asked: &AskedLimits| {
            let single = [(id.clone(), table(own))].into_iter().collect();
            LimitBook::new(table(all), single).of(&id, asked).space.memory / MIB
        };
        let nothing = AskedLimits::default();
        for (all, own, asked, expected) in [
            (&[][..], &[][..], &nothing, 64),
            (&[], &[], &asked, 256),
            (&[("memory", 128 * MIB)], &[], &nothing, 128),
            (&[("memory", 128 * MIB)], &[], &asked, 128),
            (&[("memory", 512 * MIB)], &[], &asked, 256),
            (&[("memory", 128 * MIB)], &[("memory", 300 * MIB)], &asked, 300),
            (&[], &[("memory", 2 * MIB)], &asked, 2),
            (&[("cpu_seconds", 1000)], &[], &asked, 256),
        ] {
            assert_eq!(memory(all, own, asked), expected, "{all:?} {own:?}");
        }
        let book = LimitBook::new(table(&[("cpu_seconds", 1000)]), BTreeMap::new());
        assert_eq!(book.of(&id, &asked).time.cpu, Duration::from_secs(1));
    }

    #[test]
    fn the_engine_has_room_for_the_widest() {
        let id = PluginId::new("test:one").unwrap();
        let single = [(id, table(&[("instances", 100), ("tables", 2)]))].into_iter().collect();
        let widest = LimitBook::new(table(&[("memories", 2)]), single).widest(1);
        assert_eq!((widest.instances, widest.tables, widest.memories), (100, 64, 2));
    }

    #[test]
    fn more_time_for_hooks_is_more_for_all_of_it() {
        let of = |set: &[(&str, u64)]| LimitBook::new(table(set), BTreeMap::new()).usual().hook.wall.as_millis();
        assert_eq!(of(&[]), 1000);
        assert_eq!(of(&[("hook_milliseconds", 500)]), 10_000);
        assert_eq!(of(&[("hook_milliseconds", 500), ("hook_wall_milliseconds", 700)]), 700);
        assert_eq!(of(&[("hook_wall_milliseconds", 700)]), 700);
    }
}
