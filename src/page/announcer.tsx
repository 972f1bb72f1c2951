/** Announces changes of state to screen readers. Never announces numbers, which change all the time. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { formatTime } from './format.ts';
import type { PageState } from './page-state.ts';
import { describeJvm, describeUpstream, isLeaving } from './sentences.ts';

export function Announcer({ state, nowMs }: { state: PageState; nowMs: number }) {
  const [said, say] = useState('');
  const before = useRef<PageState>(undefined);
  useEffect(() => {
    const news = before.current === undefined ? [] : listChanges(before.current, state, nowMs);
    before.current = state;
    if (news.length > 0) say(news.join(' '));
  }, [state, nowMs]);
  return (
    <div class="hidden" role="status" aria-live="polite">
      {said}
    </div>
  );
}

/** Sentences that describe changes. */
export function listChanges(before: PageState, now: PageState, nowMs: number): string[] {
  const news: string[] = [];
  if (before.connection.kind === 'lost' && now.connection.kind === 'live') news.push('The connection is back.');
  if (now.restartedAtMs !== undefined && now.restartedAtMs !== before.restartedAtMs) {
    news.push(`The sidecar was restarted at ${formatTime(now.restartedAtMs, nowMs)}.`);
  }
  const [old, live] = [before.live, now.live];
  if (old === undefined || live === undefined) return news;
  if (old.upstream.state !== live.upstream.state) news.push(describeUpstream(live.upstream, nowMs).text);
  if (old.jvm.state !== live.jvm.state) news.push(describeJvm(live.jvm, nowMs).text);
  if (!isLeaving(old) && isLeaving(live)) news.push('The sidecar is draining.');
  return news;
}
