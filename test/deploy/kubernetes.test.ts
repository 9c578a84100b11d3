/** The manifests, held against the program and the image they run, and against each other. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { VERBS } from '../../cli/verbs.ts';
import { SETTING_DEFINITIONS } from '../../lib/config/setting-definitions.ts';

const base = join(import.meta.dirname, '../../deploy/kubernetes/base');
const overlays = join(import.meta.dirname, '../../deploy/kubernetes/overlays');
const example = join(overlays, 'example');
const lake = join(overlays, 'lake');

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
    readonly serviceName?: string;
    readonly clusterIP?: string;
    readonly selector: { readonly matchLabels?: object };
    readonly egress?: readonly {
      readonly to?: readonly { readonly ipBlock: object }[];
      readonly ports: readonly { readonly port: number | string }[];
    }[];
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
    [...kustomization.resources.map((file) => join(base, file)), join(lake, 'dashboard.yaml')].map(
      async (file) => parseAllDocuments(await readFile(file, 'utf8')),
    ),
  )
).flatMap((documents) => documents.map((document) => document.toJS() as Manifest));
const sets = manifests.filter(({ kind }) => kind === 'StatefulSet' || kind === 'Deployment');
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
      ['dashboard', 2],
    ]);
    for (const { kind, metadata, spec } of sets.filter((set) => set.kind === 'StatefulSet')) {
      const name = `${metadata.name}-pods`;
      const service = manifests.find((each) => each.kind === 'Service' && each.metadata.name === name);
      expect([kind, spec.serviceName, service?.spec.clusterIP]).toEqual(['StatefulSet', name, 'None']);
    }
    const budgets = manifests.filter(({ kind }) => kind === 'PodDisruptionBudget');
    expect(budgets.map(({ metadata }) => metadata.name).toSorted()).toEqual([
      'dashboard',
      'endpoint',
      'worker',
    ]);
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
    const ofLake = await settingsOf(join(lake, 'settings.yaml'));
    for (const variable of Object.keys({ ...settings, ...more, ...ofLake }).filter((name) =>
      name.startsWith('BILLSYNC_'),
    ))
      expect(known).toContain(variable);
    const files = Object.entries({ ...settings, ...ofLake }).filter(([variable]) =>
      secrets.includes(variable),
    );
    const made = (
      await Promise.all([example, lake].map((folder) => readFile(join(folder, 'kustomization.yaml'), 'utf8')))
    ).join('');
    for (const [, path] of files) {
      const name = path.replace('/run/secrets/billsync/', '');
      expect(made).toContain(`- ${name}=secrets/${name}`);
    }
  });

  test('allow named traffic only, and no access to cloud metadata', () => {
    const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
    expect(policies[0]).toMatchObject({ spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] } });
    const out = policies.flatMap(({ spec }) => spec.egress ?? []).filter(({ to }) => to !== undefined);
    const { ports, to } = out[0] ?? {};
    expect([out.length, ports?.map(({ port }) => port)]).toEqual([1, [443, 7233, 5432, 6432, 9000]]);
    expect(to?.map(({ ipBlock }) => ipBlock)).toEqual([
      { cidr: '0.0.0.0/0', except: ['169.254.0.0/16'] },
      { cidr: '::/0', except: ['fe80::/10', 'fd00:ec2::/32'] },
    ]);
  });
});
