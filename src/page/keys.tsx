/** The keys of the page, which `?` shows; there are no others, since single letters would be in the way of speech input. */
import { useEffect, useRef } from 'preact/hooks';

const KEYS = {
  '?': 'shows or hides this list',
  Tab: 'goes on: tables, their rows and heads, figures, charts',
  Enter: 'on a row: its view; on a head: sorts by it, and again in the other order',
  '← → Home End': 'on the time axis: goes from step to step',
  Escape: 'hides an explanation, and leaves the time axis',
} as const;

export function Keys() {
  const list = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const toggle = ({ key, target }: KeyboardEvent) => {
      const element = list.current;
      if (key !== '?' || element === null || target instanceof HTMLInputElement) return;
      element.open = !element.open;
      if (element.open) element.scrollIntoView({ block: 'nearest' });
    };
    document.addEventListener('keydown', toggle);
    return () => document.removeEventListener('keydown', toggle);
  }, []);
  return (
    <details ref={list} class="definitions">
      <summary>Keys (?)</summary>
      <dl>
        {Object.entries(KEYS).map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
