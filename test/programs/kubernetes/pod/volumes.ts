/** Volumes of a Pod, made like kubelet's in a folder of the node. */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { at, type Json } from '../../../support/kubernetes/manifests.ts';

/** The content of ConfigMaps and Secrets by name, e.g. `{ 'd2-sidecar': { 'sidecar.yaml': '...' } }`. */
export type Contents = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Makes each volume of a Pod's `spec` in `folder`; returns their paths by name. */
export function makeVolumes(folder: string, spec: Json, contents: Contents): ReadonlyMap<string, string> {
  const group = Object(spec).securityContext?.fsGroup as number | undefined;
  return new Map(
    (at(spec, 'volumes') as readonly Record<string, Json>[]).map((volume) => {
      const place = path.join(folder, String(volume.name));
      mkdirSync(place);
      // A claim, with most drivers, is writable for others only through an fsGroup.
      if (volume.emptyDir !== undefined) open(place, group, group === undefined ? 0o777 : 0o2777);
      else if (volume.persistentVolumeClaim !== undefined) open(place, group, group === undefined ? 0o755 : 0o2775);
      else project(place, toFiles(volume, contents), toMode(volume), group);
      return [String(volume.name), place];
    }),
  );
}

/** Files of a ConfigMap or Secret, of root and the Pod's group: each is a link through `..data`. */
function project(place: string, files: Readonly<Record<string, string>>, mode: number, group = 0): void {
  const version = mkdtempSync(`${place}/..`);
  chmodSync(version, 0o755);
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(version, name);
    writeFileSync(file, text);
    chmodSync(file, mode);
    chownSync(file, 0, group);
  }
  symlinkSync(path.basename(version), path.join(place, '..data'));
  for (const name of Object.keys(files)) symlinkSync(path.join('..data', name), path.join(place, name));
}

function open(place: string, group: number | undefined, mode: number): void {
  if (group !== undefined) chownSync(place, 0, group);
  chmodSync(place, mode);
}

function toFiles(volume: Readonly<Record<string, Json>>, contents: Contents): Readonly<Record<string, string>> {
  const { configMap, secret } = volume;
  const name = String(configMap === undefined ? at(secret ?? null, 'secretName') : at(configMap, 'name'));
  const all = at(contents, name) as Contents[string];
  const { items } = Object(configMap ?? secret) as { items?: readonly { key: string; path: string }[] };
  if (items === undefined) return all;
  return Object.fromEntries(items.map((item) => [item.path, at(all, item.key) as string]));
}

function toMode({ configMap, secret }: Readonly<Record<string, Json>>): number {
  return (Object(configMap ?? secret).defaultMode as number | undefined) ?? 0o644;
}
