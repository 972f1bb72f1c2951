/**
 * Shows the meaning of a number on hover, focus or touch. One set of listeners on the document handles every element
 * with `data-def`, `data-more` (the details of a row) or `data-cut` (a text that may be cut). Screen readers get the same text as the description (`aria-describedby`) of focusable elements.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { DEFINITIONS, type Definition, type DefinitionKey, NOTES, toPlainText } from '../base/definitions.ts';
import { formatTime, formatUtc } from './format.ts';

interface Shown {
  readonly about: HTMLElement;
  readonly key: DefinitionKey | undefined;
  /** Lines of text before the definition. */
  readonly lines: string | undefined;
}

const EXPLAINED = '[data-def], [data-more], [data-cut]';

const GAP_PX = 8;
const WIDTH_PX = 320;
/** Hover delay: no tooltip for an element that the pointer only crosses. */
const DELAY_MS = 250;

/** Attributes of a focusable element, e.g. a button. */
export function explained(key: DefinitionKey) {
  return { 'data-def': key, 'aria-describedby': definitionId(key) };
}

function definitionId(key: string): string {
  return `def-${key.replace('.', '-')}`;
}

/** The whole definition, e.g. `Half of the calls were quicker. The clock of a call starts ...`. */
export function explain(key: DefinitionKey): string {
  const { text, notes = [] }: Definition = DEFINITIONS[key];
  return toPlainText([text, ...notes.map((note) => NOTES[note].text)].join(' '));
}

/** A label that can get the focus to show its explanation. */
export function Term({ def, children }: { def: DefinitionKey; children: ComponentChildren }) {
  return (
    <button type="button" class="term" {...explained(def)}>
      {children}
    </button>
  );
}

/** A time in the reader's zone, with UTC on hover and focus. */
export function Time({ epochMs, nowMs }: { epochMs: number; nowMs: number }) {
  const [time, utc] = [formatTime(epochMs, nowMs), formatUtc(epochMs)];
  return (
    <button type="button" class="term" aria-label={`${time}, ${utc}`} data-more={utc}>
      <time dateTime={new Date(epochMs).toISOString()}>{time}</time>
    </button>
  );
}

/** The tooltip of the hovered element, else of the focused one. */
export function Tooltip() {
  const [pointed, setPointed] = useState<Shown | undefined>(undefined);
  const [focused, setFocused] = useState<Shown | undefined>(undefined);
  useEffect(() => {
    let timer: number | undefined;
    let place = '';
    const move = ({ clientX, clientY }: PointerEvent) => {
      place = `${clientX} ${clientY}`;
    };
    const over = ({ target, clientX, clientY }: PointerEvent) => {
      // The page moved under a resting pointer: the user did not point at this.
      if (`${clientX} ${clientY}` === place) return;
      clearTimeout(timer);
      // The pointer may move onto the tooltip without closing it (WCAG 2.2, 1.4.13).
      if (target instanceof Element && target.closest('.tooltip') !== null) return;
      timer = window.setTimeout(() => setPointed(findShown(target, false)), DELAY_MS);
    };
    const focus = ({ target }: Event) => {
      clearTimeout(timer);
      setPointed(undefined);
      setFocused(findShown(target, true));
    };
    const unfocus = () => setFocused(undefined);
    const scroll = () => {
      setPointed(undefined);
      // Follows the scrolled element.
      setFocused((shown) => shown && { ...shown });
    };
    const hideByKey = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape') return;
      setPointed(undefined);
      setFocused(undefined);
    };
    const ended = new AbortController();
    const { signal } = ended;
    document.addEventListener('pointermove', move, { passive: true, signal });
    document.addEventListener('pointerover', over, { signal });
    document.addEventListener('focusin', focus, { signal });
    document.addEventListener('focusout', unfocus, { signal });
    document.addEventListener('keydown', hideByKey, { signal });
    document.addEventListener('scroll', scroll, { capture: true, passive: true, signal });
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, []);
  const shown = pointed ?? focused;
  if (shown === undefined || !shown.about.isConnected) return null;
  return (
    // Hidden from screen readers, which read the description of the focused element.
    <div class="tooltip" aria-hidden="true" style={placeTooltip(shown.about.getBoundingClientRect())}>
      {shown.lines !== undefined && <p class="lines">{shown.lines}</p>}
      {shown.key !== undefined && (
        <>
          <strong>{DEFINITIONS[shown.key].term}</strong>
          <p>{explain(shown.key)}</p>
        </>
      )}
    </div>
  );
}

/** A link with details shows them under the pointer only if its text is cut: most readers only want to click. */
function findShown(target: EventTarget | null, isFocused: boolean): Shown | undefined {
  const about = target instanceof Element ? target.closest<HTMLElement>(EXPLAINED) : null;
  if (about === null) return undefined;
  const { def, more, cut } = about.dataset;
  const isWhole = (isFocused || about instanceof HTMLButtonElement) && more !== undefined;
  const lines = isWhole || isCut(about) ? (more ?? cut) : undefined;
  const key = def as DefinitionKey | undefined;
  return key === undefined && lines === undefined ? undefined : { about, key, lines };
}

function isCut(element: HTMLElement): boolean {
  return [element, ...element.querySelectorAll('.cut span')].some((each) => each.scrollWidth > each.clientWidth + 1);
}

/** Below the element, or above it in the lower third of the window; always within the window. */
function placeTooltip(at: DOMRect): Record<string, string> {
  const { innerWidth, innerHeight } = window;
  const width = Math.min(WIDTH_PX, innerWidth - 2 * GAP_PX);
  const left = Math.max(GAP_PX, Math.min(at.left, innerWidth - width - GAP_PX));
  const isBelow = innerHeight - at.bottom > innerHeight / 3;
  const vertical = isBelow ? { top: `${at.bottom + 2}px` } : { bottom: `${innerHeight - at.top + 2}px` };
  return { left: `${left}px`, width: `${width}px`, ...vertical };
}

/** All definitions, as a list to read and as the targets of `aria-describedby`. */
export function DefinitionList() {
  return (
    <details class="definitions">
      <summary>What the numbers mean</summary>
      <dl>
        {(Object.keys(DEFINITIONS) as DefinitionKey[]).map((key) => (
          <div key={key}>
            <dt>{DEFINITIONS[key].term}</dt>
            <dd id={definitionId(key)}>{explain(key)}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
