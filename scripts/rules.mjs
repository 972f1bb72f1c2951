#!/usr/bin/env node
/**
 * `npm run rules`, after a change of config/prometheus/rules.yml: writes what Kubernetes gets of it. Helm reads no file outside of its
 * chart, and kustomize none outside of its component, so each has a copy; test/kubernetes/rules.test.ts holds them equal.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const CONFIG = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../config');
const HEAD = `# Written by \`npm run rules\` from config/prometheus/rules.yml: change that file.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: d2-sidecar
  labels: { app.kubernetes.io/name: d2-sidecar }
spec:
`;

const rules = readFileSync(path.join(CONFIG, 'prometheus/rules.yml'), 'utf8');
writeFileSync(path.join(CONFIG, 'kubernetes/chart/rules.yml'), rules);
writeFileSync(
  path.join(CONFIG, 'kubernetes/prometheus-rule/prometheus-rule.yaml'),
  HEAD + rules.replace(/^(?=.)/gm, '  '),
);
