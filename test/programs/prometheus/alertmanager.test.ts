/** config/prometheus/alertmanager.yml, by Debian's package `prometheus-alertmanager`. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../support/docs/documents.ts';
import { isAvailable } from '../../support/programs.ts';

it.runIf(isAvailable('Alertmanager', existsSync('/usr/bin/amtool')))('amtool accepts the configuration', () => {
  const file = path.join(ROOT, 'config/prometheus/alertmanager.yml');
  const { status, stderr } = spawnSync('amtool', ['check-config', file], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});
