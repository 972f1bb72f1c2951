import type { BayeuxMessage } from '../../../../src/protocol/bayeux/message.ts';
import { MessageBatches } from '../../../../src/protocol/bayeux/message-batches.ts';
import {
  parseCallbackQuery,
  selectRequestTexts,
  selectResponseText,
} from '../../../../src/protocol/bayeux/request-body.ts';

/** All messages of `texts`; undefined when there is no text, or some part of one is not read. */
export function readAll(texts: readonly string[]): readonly BayeuxMessage[] | undefined {
  const all: BayeuxMessage[] = [];
  for (const text of texts) {
    const batches = new MessageBatches(text);
    for (let batch = batches.next(); batch !== undefined; batch = batches.next()) {
      if (typeof batch === 'string') return undefined;
      all.push(...batch);
    }
  }
  return texts.length === 0 ? undefined : all;
}

export function parseRequestText(contentType: string | undefined, body: string): readonly BayeuxMessage[] | undefined {
  return readAll(selectRequestTexts(contentType, body));
}

export function parseResponseText(body: string, callback: string | undefined): readonly BayeuxMessage[] | undefined {
  return readAll([selectResponseText(body, callback)]);
}

export function parseCallbackMessages(target: string): readonly BayeuxMessage[] | undefined {
  const [, query = ''] = Buffer.from(target, 'latin1').toString('utf8').split('?', 2);
  return readAll(parseCallbackQuery(query)?.texts ?? []);
}
