/** A survey of messages that a test makes up, and its report. */
import { parse } from 'yaml';
import { formatLearnReport } from '../../../../src/cli/learn/learn-report.ts';
import { Survey } from '../../../../src/cli/learn/survey.ts';
import type { CometRule } from '../../../../src/config/rules/comet-rules.ts';
import { parseMessages } from '../../../../src/protocol/bayeux/message.ts';

const parsed = (message: object) => parseMessages(JSON.stringify(message)) ?? [];

export class Heard {
  readonly survey: Survey;

  constructor(rules: readonly CometRule[] = []) {
    this.survey = new Survey({ rules, defaultRules: true });
  }

  client(client: object | undefined, message: object): void {
    for (const one of parsed(message)) this.survey.onClientMessage(one, client);
  }

  upstream(client: object | undefined, message: object): void {
    for (const one of parsed(message)) this.survey.onUpstreamMessage(one, client);
  }

  /** A call with its acknowledgement, and an answer with data later. */
  call(client: object, channel: string, id: string, data: object, answer: object): void {
    this.client(client, { channel, id, data });
    this.upstream(client, { channel, id, successful: true });
    this.upstream(client, { channel, id, data: answer });
  }

  report(): string {
    return formatLearnReport(this.survey.finish(), 300);
  }

  rules(): CometRule[] {
    return toRules(this.report());
  }
}

/** Fills in a report as an operator does: each message subscribes, and each name is `x`. */
export function filledIn(report: string): string {
  return report
    .replaceAll('kind: FILL_IN', 'kind: object')
    .replaceAll('action: FILL_IN', 'action: subscribe')
    .replaceAll('{FILL_IN}', 'x');
}

export function toRules(report: string): CometRule[] {
  return (parse(report) as { comet: { rules: CometRule[] } }).comet.rules;
}
