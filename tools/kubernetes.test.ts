import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import '@muster/hub/features'
import { checkSettings, unknownSettings } from '@muster/hub/config'
import { createCertificate } from '@muster/link/certificate'
import type { Deployment, StatefulSet } from 'kubernetes-types/apps/v1.js'
import type { Container, Service } from 'kubernetes-types/core/v1.js'
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const ROOT = join(import.meta.dirname, '..')
const FOLDER = join(ROOT, 'deploy/kubernetes')
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')
const SECRETS = '/run/secrets'
/** The schemas are types of `kubernetes-types`, by kind. */
const SCHEMAS: Record<string, string> = {
  Deployment: 'kubernetes-types/apps/v1.js',
  NetworkPolicy: 'kubernetes-types/networking/v1.js',
  PodDisruptionBudget: 'kubernetes-types/policy/v1.js',
  Service: 'kubernetes-types/core/v1.js',
  StatefulSet: 'kubernetes-types/apps/v1.js',
}
type Kustomization = {
  resources: string[]
  images?: { name: string }[]
  configMapGenerator?: { name: string; literals: string[] }[]
}

const folders = readdirSync(FOLDER)
const textOf = (file: string): string => readFileSync(join(FOLDER, file), 'utf8')
// Kubernetes reads modes such as 0440 as YAML 1.1 does.
const read = <Manifest>(file: string): Manifest => parse(textOf(file), { version: '1.1' }) as Manifest
const manifests = folders.flatMap(name =>
  readdirSync(join(FOLDER, name))
    .filter(file => file !== 'kustomization.yaml')
    .map(file => `${name}/${file}`),
)
const WORKLOADS = ['single/statefulset.yaml', 'cluster/deployment.yaml']
const specOf = (file: string) => read<Deployment | StatefulSet>(file).spec!
const hubOf = (file: string): Container => specOf(file).template.spec!.containers[0]!

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-kubernetes-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('the manifests for Kubernetes', () => {
  it('O22: have the fields of their schemas, and no others', () => {
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    const write = (name: string, manifest: { kind: string }): void => {
      const from = SCHEMAS[manifest.kind]
      expect(from, `schema of ${manifest.kind} in ${name}`).toBeDefined()
      const { kind } = manifest
      writeFileSync(
        join(folder, `${name.replaceAll(/\W/g, '-')}.ts`),
        `import type { ${kind} } from '${from}'\nexport const manifest: ${kind} = ${JSON.stringify(manifest)}\n`,
      )
    }
    for (const file of manifests) write(file, read(file))
    const misspelt = read<StatefulSet & { kind: string }>('single/statefulset.yaml')
    Object.assign(misspelt.spec!.template.spec!, { enableServiceLink: false })
    write('misspelt', misspelt)
    const options = ['--noEmit', '--strict', '--module', 'preserve', '--types', '', '--pretty', 'false']
    const { stdout } = spawnSync(
      process.execPath,
      [TSC, ...options, ...readdirSync(folder).filter(file => file.endsWith('.ts'))],
      { cwd: folder, encoding: 'utf8' },
    )
    expect(stdout).toMatch(/^misspelt\.ts\(2,\d+\): error [^\n]*"enableServiceLink"' does not exist[^\n]*\n$/)
  })

  it('are all listed, and refer to files that exist', () => {
    for (const name of folders) {
      const { resources } = read<Kustomization>(`${name}/kustomization.yaml`)
      const files = resources.filter(resource => resource !== '../base').map(file => `${name}/${file}`)
      expect(files.sort()).toEqual(manifests.filter(file => file.startsWith(`${name}/`)).sort())
    }
  })

  it.each(WORKLOADS)('%s: service and network policy lead to ports of the hub', file => {
    const { template, selector } = specOf(file)
    const service = read<Service>('base/service.yaml').spec!
    const policy = read<NetworkPolicy>('base/network-policy.yaml').spec!
    const labels = { 'app.kubernetes.io/name': 'muster-hub' }
    expect([template.metadata!.labels, selector.matchLabels, service.selector]).toEqual([
      labels,
      labels,
      labels,
    ])
    expect(policy.podSelector).toEqual({ matchLabels: labels })
    const { ports = [], livenessProbe, readinessProbe } = hubOf(file)
    const names = ports.map(({ name }) => name)
    expect(names).toContain(service.ports![0]!.targetPort)
    for (const probe of [livenessProbe, readinessProbe])
      expect(probe!.httpGet).toMatchObject({ port: 'https', scheme: 'HTTPS' })
    const scraped = ports.find(({ name }) => name === 'metrics')!.containerPort
    expect(template.metadata!.annotations!['prometheus.io/port']).toBe(String(scraped))
    const inCluster = file.startsWith('cluster/')
    expect(names.sort()).toEqual(['https', 'metrics', ...(inCluster ? ['nodes'] : [])])
    expect(policy.ingress!.flatMap(rule => rule.ports!.map(({ port }) => port)).sort()).toEqual([
      'https',
      'metrics',
      'nodes',
    ])
  })

  it.each(WORKLOADS)('%s: has settings with which a hub starts, and the secrets that they name', file => {
    const { env = [], envFrom, volumeMounts = [], ports = [] } = hubOf(file)
    const [name] = file.split('/')
    const { configMapGenerator, images } = read<Kustomization>(`${name}/kustomization.yaml`)
    const map = configMapGenerator!.find(one => one.name === envFrom![0]!.configMapRef!.name)!
    const secrets = join(folder, name!)
    mkdirSync(join(secrets, 'tls'), { recursive: true })
    mkdirSync(join(secrets, 'muster'), { recursive: true })
    const { certificatePem, keyPem } = createCertificate('hub.example.com')
    const contents: Record<string, string> = {
      'tls/tls.crt': certificatePem,
      'tls/tls.key': keyPem,
      'muster/operator-token': 'ab'.repeat(32),
      'muster/instance-key': 'ab'.repeat(32),
      'muster/database-url': 'postgresql://muster:secret@database.example.com/muster',
      'muster/s3-secret': 'secret',
    }
    for (const [path, content] of Object.entries(contents)) writeFileSync(join(secrets, path), content)
    const settings: Record<string, string> = Object.fromEntries(
      map.literals.map(text => text.split(/=(.*)/s)),
    )
    for (const { name, value, valueFrom } of env)
      settings[name] = value
        ? value.replace(SECRETS, secrets).replace('$(POD_IP)', () => settings.POD_IP!)
        : { 'metadata.name': 'muster-hub-0', 'status.podIP': '10.1.2.3' }[valueFrom!.fieldRef!.fieldPath]!
    expect(unknownSettings(settings)).toEqual([])
    const { config, problems } = checkSettings(settings)
    expect(problems).toEqual([])
    expect([config.port, config.operatorPort, config.nodePort].filter(Boolean).sort()).toEqual(
      ports.map(({ containerPort }) => containerPort).sort(),
    )
    // Each secret is mounted, and made by the commands in the head of the kustomization.
    const mounted = volumeMounts.filter(({ mountPath }) => mountPath.startsWith(SECRETS))
    for (const { value = '' } of env.filter(({ value }) => value?.startsWith(SECRETS))) {
      const mount = mounted.find(({ mountPath }) => value.startsWith(`${mountPath}/`))
      expect(mount, value).toBeDefined()
      const file = value.slice(mount!.mountPath.length + 1)
      expect(textOf(`${name}/kustomization.yaml`)).toMatch(
        file.startsWith('tls.') ? 'create secret tls muster-tls' : `--from-file=${file}`,
      )
    }
    expect(images!.map(image => image.name)).toEqual([hubOf(file).image])
  })

  it('run hubs alike, without privileges and without variables of services', () => {
    const [single, cluster] = WORKLOADS.map(file => specOf(file).template)
    for (const { spec } of [single!, cluster!]) {
      expect(spec!.enableServiceLinks).toBe(false)
      expect(spec!.automountServiceAccountToken).toBe(false)
      expect(spec!.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 10001 })
      expect(spec!.containers[0]!.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    }
    expect(cluster!.metadata).toEqual(single!.metadata)
    for (const key of ['securityContext', 'terminationGracePeriodSeconds'] as const)
      expect(cluster!.spec![key]).toEqual(single!.spec![key])
    for (const key of ['livenessProbe', 'readinessProbe', 'lifecycle', 'securityContext'] as const)
      expect(cluster!.spec!.containers[0]![key]).toEqual(single!.spec!.containers[0]![key])
  })

  it('have commands in their heads that are shell', () => {
    for (const name of ['single', 'cluster']) {
      const text = textOf(`${name}/kustomization.yaml`)
      const commands = [...text.matchAll(/^# {3,}(.*)$/gm)].map(([, command]) => command).join('\n')
      expect(spawnSync('sh', ['-n'], { input: commands, encoding: 'utf8' })).toMatchObject({
        status: 0,
        stderr: '',
      })
      const applied = /--kustomize (\S+)/.exec(commands)![1]!
      expect(existsSync(join(ROOT, applied, 'kustomization.yaml'))).toBe(true)
    }
  })
})
