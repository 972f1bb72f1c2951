/** The choices above the charts. */
import type { CallKind } from './chart-specs.ts';
import type { Shown } from './page-state.ts';
import { DAY_S, HOUR_S, NOTHING_CHOSEN, type PastView } from './past.ts';

export const KINDS: Readonly<Record<string, CallKind>> = { RPC: 'rpc', SBA: 'sba' };
/** In seconds. */
const RANGES = { '5 min': 300, '15 min': 900, '1 h': HOUR_S };
/** Those of the history on disk. */
const PAST_RANGES = { '6 h': 6 * HOUR_S, '1 d': DAY_S, '7 d': 7 * DAY_S, '30 d': 30 * DAY_S, '90 d': 90 * DAY_S };

interface RangeChoiceProps extends Pick<Shown, 'live' | 'onView'> {
  /** Seconds of the range that is shown. */
  readonly current: number;
  /** The view of the history, whose comparison and mark stay. */
  readonly past?: PastView;
}

export function RangeChoice({ live, current, past = NOTHING_CHOSEN, onView }: RangeChoiceProps) {
  const choose = (rangeS: number) => {
    const isPast = Object.values(PAST_RANGES).includes(rangeS);
    onView(isPast ? { past: { ...past, rangeS, toS: undefined } } : { rangeS, past: undefined });
  };
  const choices = live.archive === null ? RANGES : { ...RANGES, ...PAST_RANGES };
  return <Choice name="Time range" value={current} choices={choices} onChoose={choose} />;
}

interface ChoiceProps<Value> {
  readonly name: string;
  readonly value: Value;
  /** By name. */
  readonly choices: Readonly<Record<string, Value>>;
  readonly onChoose: (value: Value) => void;
}

export function Choice<Value extends string | number>({ name, value, choices, onChoose }: ChoiceProps<Value>) {
  return (
    <fieldset class="choice">
      <legend class="hidden">{name}</legend>
      {Object.entries(choices).map(([label, choice]) => (
        <button key={label} type="button" aria-pressed={choice === value} onClick={() => onChoose(choice)}>
          {label}
        </button>
      ))}
    </fieldset>
  );
}
