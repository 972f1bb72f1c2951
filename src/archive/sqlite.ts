/** What this folder uses of `node:sqlite`, which Node.js 20 and its types lack. */

export type SqlValue = number | string | Uint8Array | null;
export type SqlRow = Readonly<Record<string, SqlValue>>;

export interface Statement {
  get(...values: SqlValue[]): SqlRow | undefined;
  all(...values: SqlValue[]): SqlRow[];
  iterate(...values: SqlValue[]): IterableIterator<SqlRow>;
  run(...values: SqlValue[]): { readonly changes: number | bigint };
}

export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

/** Throws if the file cannot be opened. */
export function openDatabase(file: string): Database {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite' as 'node:fs') as unknown as {
    readonly DatabaseSync: new (file: string) => Database;
  };
  return new DatabaseSync(file);
}

/** The primary result code of SQLite (https://sqlite.org/rescode.html), e.g. 11; undefined for other errors. */
function resultCode(error: unknown): number | undefined {
  const { errcode } = error as { readonly errcode?: unknown };
  return typeof errcode === 'number' ? errcode & 0xff : undefined;
}

const CORRUPT = 11;
const NOT_A_DATABASE = 26;

export function isDamage(error: unknown): boolean {
  const code = resultCode(error);
  return code === CORRUPT || code === NOT_A_DATABASE;
}

/** E.g. `database or disk is full`; SQLite's own texts quote no values. */
export function describeSqlError(error: unknown): string {
  const { errstr } = error as { readonly errstr?: unknown };
  if (typeof errstr === 'string') return errstr;
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
