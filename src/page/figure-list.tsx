/** Labelled numbers, with the usual one where it is known. */
import type { DefinitionKey } from '../base/definitions.ts';
import { Term } from './explanations.tsx';
import type { Trend } from './history-points.ts';
import { goToTables } from './scroll-to-tables.ts';

export interface Figure {
  readonly def: DefinitionKey;
  readonly label: string;
  readonly value: string;
  readonly note?: string;
  readonly isBad?: boolean;
  readonly usual?: { readonly trend: Trend; readonly text: string } | undefined;
  /** `to`: the name of the table that it leads to. */
  readonly link?: { readonly href: string; readonly to: string };
}

export function FigureList({ figures }: { figures: readonly Figure[] }) {
  return (
    <dl class="figure-list">
      {figures.map((figure) => (
        <div
          key={`${figure.def} ${figure.label}`}
          class={figure.isBad === true ? 'figure bad' : 'figure'}
          data-def={figure.def}
        >
          <dt>
            <Term def={figure.def}>{figure.label}</Term>
          </dt>
          <dd>
            <Value {...figure} />
          </dd>
          {figure.usual !== undefined && <UsualValue {...figure.usual} />}
        </div>
      ))}
    </dl>
  );
}

function Value({ value, note, link }: Figure) {
  const shown = (
    <>
      {value} {note !== undefined && <small>{note}</small>}
    </>
  );
  if (link === undefined) return shown;
  return (
    <a
      href={link.href}
      aria-label={`${value}${note === undefined ? '' : ` ${note}`}, to the table of ${link.to}`}
      onClick={goToTables}
    >
      {shown}
    </a>
  );
}

const SIGNS: Readonly<Record<Trend, string>> = { up: '▲', down: '▼', same: '=' };

function UsualValue({ trend, text }: { trend: Trend; text: string }) {
  return (
    <dd class={`usual ${trend}`}>
      <Term def="usual">
        <span aria-hidden="true">{SIGNS[trend]} </span>
        <span class="hidden">{trend}, </span>
        <span class="usual-word">usual </span>
        {text}
      </Term>
    </dd>
  );
}
