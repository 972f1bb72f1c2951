import { createDocument } from '../../../src/monitor/openapi/document.ts';
import { AnswerCheck, type Document } from './answer-check.ts';
import type { RecordedAnswer } from './recorded-answers.ts';

/** Everything else of the document makes no difference to what an answer has to be. */
const OPTIONS = { version: '0.0.0', windowMs: 300_000, durationUnit: 'seconds' } as const;

const checks = new Map<string, AnswerCheck>();

/** What does not fit, with what was asked, e.g. `GET /livez: status 418 is not described`. */
export function complaintsAbout(answer: RecordedAnswer): readonly string[] {
  const asked = `${answer.method ?? 'no request'} ${answer.target ?? ''}`;
  return checkFor(answer.applications)
    .faultsOf(answer)
    .map((fault) => `${asked}: ${fault}`);
}

function checkFor(applications: readonly string[]): AnswerCheck {
  const key = applications.join('\n');
  let check = checks.get(key);
  if (check === undefined) {
    check = new AnswerCheck(JSON.parse(createDocument({ ...OPTIONS, applications })) as Document);
    checks.set(key, check);
  }
  return check;
}
