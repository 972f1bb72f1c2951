import { expect, it } from 'vitest';
import { listServiceWords, service } from '../../../src/cli/service.ts';

const LOG = 'E:\\Data\\d2-sidecar\\d2-sidecar.log';
const { execPath } = process;

it.each([
  ['install', undefined, [], ['install', LOG, execPath, '--config', 'E:\\Data\\d2-sidecar\\sidecar.yaml']],
  ['install', 'D:\\sieť č\\a.yaml', ['m.js'], ['install', LOG, execPath, 'm.js', '--config', 'D:\\sieť č\\a.yaml']],
  ['uninstall', undefined, [], ['uninstall']],
  ['status', undefined, ['m.js'], ['status']],
] as const)('service %s with the configuration %j, run by %j', (action, config, script, words) => {
  expect(listServiceWords(action, config, { ProgramData: 'E:\\Data' }, script)).toEqual(words);
});

it('where systemd runs services, the command refers to it', async () => {
  const refused = service({ action: 'install', flags: {} }, {});
  await expect(refused).rejects.toMatchObject({
    message: 'service: only for Windows; here systemd runs the sidecar',
    advice: 'See docs/install.md.',
  });
});
