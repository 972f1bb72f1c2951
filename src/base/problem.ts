/** Error answers as problem details (RFC 9457). */
import { STATUS_CODES } from 'node:http';

export class Problem extends Error {
  readonly status: number;
  /** Header fields; a list is sent as one field per element. */
  readonly fields: Readonly<Record<string, string | string[]>>;
  /** Further members of the content, e.g. `{ since: '2026-01-31T02:14:07.000Z' }`. */
  readonly members: Readonly<Record<string, string>>;

  /** `detail` is for people and may change. */
  constructor(
    status: number,
    detail: string,
    { members = {}, fields = {} }: Partial<Pick<Problem, 'members' | 'fields'>> = {},
  ) {
    super(detail);
    this.name = 'Problem';
    this.status = status;
    this.fields = fields;
    this.members = members;
  }

  get title(): string {
    // Node still has the name of RFC 7231 (Payload Too Large).
    return this.status === 413 ? 'Content Too Large' : (STATUS_CODES[this.status] ?? 'Error');
  }

  /** The content, of type `application/problem+json`. */
  get body(): string {
    const { title, status, message: detail } = this;
    return JSON.stringify({ type: 'about:blank', title, status, detail, ...this.members });
  }
}
