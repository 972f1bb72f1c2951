/** The choices above the charts. */
import type { CallKind } from './chart-specs.ts';
import type { Shown } from './page-state.ts';
import { DAY_S, HOUR_S, NOTHING_CHOSEN, type PastView } from './past.ts';

export const KINDS: readonly Choosable<CallKind>[] = [
  { value: 'rpc', name: 'RPC' },
  { value: 'sba', name: 'SBA' },
];
/** In seconds. */
const RANGES: readonly Choosable<number>[] = [
  { value: 300, name: '5 min' },
  { value: 900, name: '15 min' },
  { value: 3_600, name: '1 h' },
];
/** Those of the history on disk. */
const PAST_RANGES: readonly Choosable<number>[] = [
  { value: 6 * HOUR_S, name: '6 h' },
  { value: DAY_S, name: '1 d' },
  { value: 7 * DAY_S, name: '7 d' },
  { value: 30 * DAY_S, name: '30 d' },
  { value: 90 * DAY_S, name: '90 d' },
];

interface RangeChoiceProps extends Pick<Shown, 'live' | 'onView'> {
  /** Seconds of the range that is shown. */
  readonly current: number;
  /** The view of the history, whose comparison and mark stay. */
  readonly past?: PastView;
}

export function RangeChoice({ live, current, past = NOTHING_CHOSEN, onView }: RangeChoiceProps) {
  const choose = (rangeS: number) => {
    const isPast = PAST_RANGES.some(({ value }) => value === rangeS);
    onView(isPast ? { past: { ...past, rangeS, toS: undefined } } : { rangeS, past: undefined });
  };
  const choices = live.archive === null ? RANGES : [...RANGES, ...PAST_RANGES];
  return <Choice name="Time range" value={current} choices={choices} onChoose={choose} />;
}

interface Choosable<Value> {
  readonly value: Value;
  readonly name: string;
}

interface ChoiceProps<Value> {
  readonly name: string;
  readonly value: Value;
  readonly choices: readonly Choosable<Value>[];
  readonly onChoose: (value: Value) => void;
}

export function Choice<Value extends string | number>({ name, value, choices, onChoose }: ChoiceProps<Value>) {
  return (
    <fieldset class="choice">
      <legend class="hidden">{name}</legend>
      {choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={choice.value === value}
          onClick={() => onChoose(choice.value)}
        >
          {choice.name}
        </button>
      ))}
    </fieldset>
  );
}
