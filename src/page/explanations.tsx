/**
 * Shows what a number means, beside it, on hover, focus or touch. One listener for the whole page: whatever carries `data-def` is
 * explained. For screen readers the same text is the description (`aria-describedby`) of what can be focused.
 */
import { useEffect, useState } from 'preact/hooks';
import { DEFINITIONS, type DefinitionKey, toDefinitionId } from './definitions.ts';

interface Shown {
  readonly key: DefinitionKey;
  readonly about: HTMLElement;
}

const GAP_PX = 8;
const WIDTH_PX = 320;
/** Of the pointer: what it only passes over is not explained. */
const DELAY_MS = 250;

/** Attributes of something that can be focused, e.g. a button. */
export function explained(key: DefinitionKey) {
  return { 'data-def': key, 'aria-describedby': toDefinitionId(key) };
}

/** A label that can be focused for its explanation. */
export function Term({ def, children }: { def: DefinitionKey; children: string }) {
  return (
    <button type="button" class="term" {...explained(def)}>
      {children}
    </button>
  );
}

/** What the pointer has come to, or what got the focus after that. */
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
      // Something else has come under a pointer that rests: nobody has asked about it.
      if (`${clientX} ${clientY}` === place) return;
      clearTimeout(timer);
      // On its way onto the explanation itself the pointer must not lose it (WCAG 2.2, 1.4.13).
      if (target instanceof Element && target.closest('.tooltip') !== null) return;
      timer = window.setTimeout(() => setPointed(toShown(target)), DELAY_MS);
    };
    const focus = ({ target }: Event) => {
      clearTimeout(timer);
      setPointed(undefined);
      setFocused(toShown(target));
    };
    const unfocus = () => setFocused(undefined);
    const scroll = () => {
      setPointed(undefined);
      // It has moved with what it belongs to.
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
  const { term, text } = DEFINITIONS[shown.key];
  return (
    // To be seen only: who hears the page has it as the description of what has the focus.
    <div class="tooltip" aria-hidden="true" style={toPlace(shown.about.getBoundingClientRect())}>
      <strong>{term}</strong>
      <p>{text}</p>
    </div>
  );
}

function toShown(target: EventTarget | null): Shown | undefined {
  const about = target instanceof Element ? target.closest<HTMLElement>('[data-def]') : null;
  const key = about?.dataset.def as DefinitionKey | undefined;
  return about === null || key === undefined ? undefined : { key, about };
}

/** Below what it explains, or above where there is more room; never outside the window. */
function toPlace(at: DOMRect): Record<string, string> {
  const { innerWidth, innerHeight } = window;
  const width = Math.min(WIDTH_PX, innerWidth - 2 * GAP_PX);
  const left = Math.max(GAP_PX, Math.min(at.left, innerWidth - width - GAP_PX));
  const isBelow = innerHeight - at.bottom > innerHeight / 3;
  const vertical = isBelow ? { top: `${at.bottom + 2}px` } : { bottom: `${innerHeight - at.top + 2}px` };
  return { left: `${left}px`, width: `${width}px`, ...vertical };
}

/** All definitions: the descriptions of what is focused, and something to read for who wants to know. */
export function DefinitionList() {
  return (
    <details class="definitions">
      <summary>What the numbers mean</summary>
      <dl>
        {Object.entries(DEFINITIONS).map(([key, { term, text }]) => (
          <div key={key}>
            <dt>{term}</dt>
            <dd id={toDefinitionId(key as DefinitionKey)}>{text}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
