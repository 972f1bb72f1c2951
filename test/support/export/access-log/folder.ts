import { realpathSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { deferTo, temporaryFolder } from '../../deferred.ts';

/** A folder for each test. Returns the path of a name in it. */
export function useFolder(): (name: string) => string {
  const defer = deferTo(afterEach);
  let folder = '';
  beforeEach(() => {
    folder = realpathSync(temporaryFolder(defer));
  });
  return (name) => path.join(folder, name);
}
