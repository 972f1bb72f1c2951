import { describe, expect, it } from 'vitest';
import { equationsOf, holds } from '../../../chaos/accounts/equations.ts';
import { LifeTally } from '../../../chaos/accounts/life-tally.ts';
import { Samples } from '../../../support/load/samples.ts';

/** The metrics of a sidecar that has counted everything in `tallyOf`. */
const RIGHT: Readonly<Record<string, number>> = {
  'd2_calls_total{application="smartWeb",kind="rpc",name="E.Chaos.Call1",outcome="ok"}': 5,
  'd2_calls_total{application="smartWeb",kind="rpc",name="E.Chaos.Call2",outcome="client_error"}': 2,
  'd2_calls_total{application="smartWeb",kind="rpc",name="E.Chaos.Call2",outcome="error"}': 3,
  'd2_calls_total{application="smartWeb",kind="sba",name="E.Chaos.File1",outcome="ok"}': 4,
  'd2_calls_aborted_total{kind="rpc"}': 0,
  'd2_calls_aborted_total{kind="sba"}': 1,
  'd2_calls_aborted_total{kind="object"}': 0,
  'd2_calls_unanswered_total{kind="rpc"}': 2,
  'd2_calls_unanswered_total{kind="object"}': 1,
  'd2_object_values_total{application="smartWeb",name="H.Chaos3"}': 6,
  'd2_object_values_total{application="smartWeb",name="P.Chaos0"}': 2,
  d2_sidecar_connections_accepted_total: 9,
  d2_sidecar_unclassified_exchanges_total: 7,
  d2_sidecar_comet_exchanges_total: 3,
  'd2_sidecar_exchanges_total{path="relay",ending="completed"}': 28,
  'd2_sidecar_exchanges_total{path="relay",ending="failed"}': 3,
  'd2_sidecar_exchanges_total{path="relay",ending="cancelled"}': 1,
  d2_sidecar_upgrades_total: 1,
  'd2_comet_messages_total{sender="client"}': 3,
  'd2_comet_messages_total{sender="upstream"}': 4,
  'd2_sessions_created_total{application="smartWeb"}': 2,
  d2_sidecar_exchanges_open: 0,
};

function tallyOf(): LifeTally {
  const tally = new LifeTally();
  tally.connected = 9;
  Object.assign(tally.rpc, { below500: 7, errors: 3, broken: 2 });
  Object.assign(tally.object, { values: 6, others: 0, broken: 1 });
  const begun = { page: [6, 0], live: [1, 0], sba: [4, 2], comet: [3, 0], completed: [27, 3], failed: [3, 3] } as const;
  const others = { upgrades: [1, 0], pushedValues: [2, 0], clientMessages: [3, 0], serverMessages: [4, 0] } as const;
  for (const [name, [sure, perhaps]] of Object.entries({ ...begun, ...others }))
    Object.assign(tally[name as keyof typeof begun], { sure, perhaps });
  tally.users.add(1).add(2);
  return tally;
}

function broken(numbers: Readonly<Record<string, number>>): string[] {
  const lines = Object.entries(numbers).map(([name, value]) => `${name} ${value}\n`);
  const equations = equationsOf(tallyOf(), new Samples(`# HELP something\n${lines.join('')}`));
  return equations.filter((equation) => !holds(equation)).map(({ what }) => what);
}

describe('the equations', () => {
  it('hold when the sidecar has counted everything', () => {
    expect(broken(RIGHT)).toEqual([]);
  });

  it.each(Object.keys(RIGHT))('fail when %s is off by more than its tolerance', (name) => {
    // Calls whose clients left are known between two bounds only.
    const most = name.includes('kind="sba"') || name.includes('cancelled') ? 9 : 1;
    const off = name.includes('ending=') || name.includes('sessions') ? 9 : most;
    expect(broken({ ...RIGHT, [name]: (RIGHT[name] ?? 0) + off })).not.toEqual([]);
  });

  it('fail when a call is lost', () => {
    expect(broken({ ...RIGHT, 'd2_sidecar_exchanges_total{path="relay",ending="completed"}': 27 })).toEqual([
      'exchanges, as the sum of their kinds',
    ]);
  });
});
