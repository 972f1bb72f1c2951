import { createDocument } from '../../../../src/monitor/openapi/document.ts';
import { AnswerCheck, type Document } from './answer-check.ts';
import type { RecordedAnswer } from './recorded-answers.ts';

const checks = new Map<string, AnswerCheck>();

/** The violations, with their requests, e.g. `GET /livez: status 418 is not described`. */
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
    check = new AnswerCheck(JSON.parse(createDocument({ version: '0.0.0', applications })) as Document);
    checks.set(key, check);
  }
  return check;
}
