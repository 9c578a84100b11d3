/** The manifests, held against the program and the image they run, and against each other. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { VERBS } from '../../cli/verbs.ts';
import { SETTING_DEFINITIONS } from '../../lib/config/setting-definitions.ts';

const base = join(import.meta.dirname, '../../deploy/kubernetes/base');
const example = join(import.meta.dirname, '../../deploy/kubernetes/overlays/example');

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly securityContext: object;
  readonly resources: { readonly limits: object };
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly replicas: number;
    readonly selector: { readonly matchLabels?: object };
    readonly podSelector?: { readonly matchLabels?: object };
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: {
        readonly containers: readonly Container[];
        readonly terminationGracePeriodSeconds: number;
      };
    };
  };
}

const kustomization = parse(await readFile(join(base, 'kustomization.yaml'), 'utf8')) as {
  readonly resources: readonly string[];
};
const manifests = (
  await Promise.all(
    kustomization.resources.map(async (file) => parseAllDocuments(await readFile(join(base, file), 'utf8'))),
  )
).flatMap((documents) => documents.map((document) => document.toJS() as Manifest));
const sets = manifests.filter(({ kind }) => kind === 'StatefulSet');
const secrets = SETTING_DEFINITIONS.filter(({ secret }) => secret).map(({ variable }) => `${variable}_FILE`);
const known = [...SETTING_DEFINITIONS.map(({ variable }) => variable), ...secrets];

async function settingsOf(path: string): Promise<Readonly<Record<string, string>>> {
  return (parse(await readFile(path, 'utf8')) as Manifest).data ?? {};
}

describe('the manifests', () => {
  test('run one writer, and two endpoints of which one always answers', () => {
    expect(sets.map(({ metadata, spec }) => [metadata.name, spec.replicas])).toEqual([
      ['worker', 1],
      ['endpoint', 2],
    ]);
    const budgets = manifests.filter(({ kind }) => kind === 'PodDisruptionBudget');
    expect(budgets.map(({ metadata }) => metadata.name).toSorted()).toEqual(['endpoint', 'worker']);
  });

  test.each(sets.map((set) => [set.metadata.name, set] as const))(
    '%s runs without rights, is probed, and has time to drain',
    (_name, { spec }) => {
      const { containers, terminationGracePeriodSeconds } = spec.template.spec;
      expect(terminationGracePeriodSeconds).toBeGreaterThan(60);
      for (const container of containers) {
        expect(VERBS.map(({ name }) => name)).toContain(container.args[0]);
        expect(container.securityContext).toEqual({
          ...{
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        });
        expect(container.resources.limits).toHaveProperty('memory');
        const ports = Object.fromEntries(
          container.ports.map(({ name, containerPort }) => [name, containerPort]),
        );
        for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
          const { path, port } = probe.httpGet;
          // The endpoint's own port knows /healthz, the admin port the two others.
          expect(path).toMatch(port === 'https' ? /^\/healthz$/ : /^\/(livez|readyz)$/);
          expect(ports).toHaveProperty(port);
        }
      }
    },
  );

  test('set existing settings, secrets by file only', async () => {
    const settings = await settingsOf(join(base, 'settings.yaml'));
    const more = await settingsOf(join(example, 'settings.yaml'));
    for (const variable of Object.keys({ ...settings, ...more }).filter((name) =>
      name.startsWith('BILLSYNC_'),
    ))
      expect(known).toContain(variable);
    const files = Object.entries(settings).filter(([variable]) => secrets.includes(variable));
    const made = await readFile(join(example, 'kustomization.yaml'), 'utf8');
    for (const [, path] of files) {
      const name = path.replace('/run/secrets/billsync/', '');
      expect(made).toContain(`- ${name}=secrets/${name}`);
    }
  });

  test('allow named traffic only, and no access to cloud metadata', () => {
    const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
    expect(policies[0]).toMatchObject({ spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] } });
    expect(JSON.stringify(policies)).toContain('"except":["169.254.0.0/16"]');
  });
});
