import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import '@muster/hub/features'
import { unknownSettings } from '@muster/hub/config'
import { createCertificate } from '@muster/link/certificate'
import { hasPrograms, PROGRAMS } from '@muster/testkit/programs'
import { validate } from 'dockerfile-utils'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const ROOT = join(import.meta.dirname, '..')
const FOLDER = join(ROOT, 'deploy/container')
/** Namespaces for nginx. Its check changes owners of folders, writes a file with its process id and opens the ports. */
const NAMESPACES = ['--mount', '--net']
const canIsolate =
  process.getuid?.() === 0 &&
  spawnSync('unshare', [...NAMESPACES, 'mount', '-t', 'tmpfs', 'tmpfs', '/run']).status === 0
const textOf = (file: string): string => readFileSync(join(FOLDER, file), 'utf8')

type Service = {
  image: string
  environment?: Record<string, unknown>
  secrets?: string[]
  read_only?: boolean
  cap_drop?: string[]
  networks?: string[] | Record<string, unknown>
  volumes?: string[]
  depends_on?: Record<string, unknown> | string[]
}
type Compose = {
  services: Record<string, Service>
  secrets?: Record<string, { file: string }>
  networks?: Record<string, { ipam: { config: { subnet: string }[] } }>
  volumes?: Record<string, unknown>
}
const composeOf = (file: string): Compose => parse(textOf(file), { merge: true })

describe('the Dockerfile', () => {
  const text = textOf('Dockerfile')

  it('passes the linter', () => {
    const problems = validate(text)
    expect(problems.map(({ message }) => message)).toEqual([])
  })

  it('makes an image that does not run as root and says whether the hub lives', () => {
    expect(text).toMatch(/^USER 10001:10001$/m)
    expect(text).toMatch(/^HEALTHCHECK .*healthz/m)
    const [, words] = /^HEALTHCHECK .*? CMD (\[.*\])$/m.exec(text)!
    const [, option, code] = JSON.parse(words!) as [string, string, string]
    // Nothing listens on this port.
    const checked = spawnSync(process.execPath, [option, code], { env: { MUSTER_PORT: '1' } })
    expect(checked.status).toBe(1)
  })

  it('has no shell command with a syntax error', () => {
    const commands = [...text.matchAll(/^RUN ((?:.*\\\n)*.*)$/gm)].map(([, command]) => command!)
    expect(commands.length).toBeGreaterThan(2)
    for (const command of commands) execFileSync('sh', ['-n', '-c', command])
  })
})

describe.each(['compose.yaml', 'compose-cluster.yaml'])('%s', file => {
  const { services, secrets = {}, networks = {}, volumes = {} } = composeOf(file)
  const hubs = Object.values(services).filter(({ image }) => image.startsWith('muster-hub:'))

  it('refers to services, secrets, networks and volumes that it has', () => {
    for (const [name, service] of Object.entries(services)) {
      const needs = Array.isArray(service.depends_on)
        ? service.depends_on
        : Object.keys(service.depends_on ?? {})
      expect(Object.keys(services), name).toEqual(expect.arrayContaining(needs))
      expect(Object.keys(secrets), name).toEqual(expect.arrayContaining(service.secrets ?? []))
      const joined = Array.isArray(service.networks) ? service.networks : Object.keys(service.networks ?? {})
      expect(Object.keys(networks), name).toEqual(expect.arrayContaining(joined))
      const named = (service.volumes ?? [])
        .map(volume => volume.split(':')[0]!)
        .filter(from => /^\w/.test(from))
      expect(Object.keys(volumes), name).toEqual(expect.arrayContaining(named))
    }
  })

  it('runs hubs with existing settings, with secrets in files and without privileges', () => {
    expect(hubs).toHaveLength(file === 'compose.yaml' ? 1 : 3)
    for (const { environment = {}, secrets: mounted = [], read_only, cap_drop } of hubs) {
      expect({ read_only, cap_drop }).toEqual({ read_only: true, cap_drop: ['ALL'] })
      expect(unknownSettings(environment as Record<string, string>)).toEqual([])
      const files = Object.entries(environment).flatMap(([name, path]) =>
        name.endsWith('_FILE') ? [path] : [],
      )
      expect(files).toEqual(mounted.map(secret => `/run/secrets/${secret}`))
    }
  })

  it('has hubs that believe the certificates of devices from a proxy in front', () => {
    const subnets = Object.values(networks).flatMap(({ ipam }) => ipam.config.map(({ subnet }) => subnet))
    expect(subnets).toHaveLength(1)
    for (const { environment = {}, networks: joined } of hubs) {
      expect(joined).toEqual(Object.keys(networks))
      expect(environment).toMatchObject({
        MUSTER_TRUSTED_PROXIES: subnets[0],
        MUSTER_PROXY_SECRET_FILE: '/run/secrets/proxy-secret',
      })
    }
  })
})

describe('the configuration of nginx for three hubs', () => {
  it('is the one of docs/operating.md with the names of the containers', () => {
    const blocks = [
      ...readFileSync(join(ROOT, 'docs/operating.md'), 'utf8').matchAll(/^```nginx\n(.*?)^```$/gms),
    ].map(([, block]) => block!)
    const upstream = blocks.find(block => block.includes('least_conn'))!
    const server = blocks.find(block => block.includes('server {\n  listen 443 ssl'))!
    const expected = server
      .replace(/^upstream muster \{.*?^\}\n/ms, upstream)
      .replaceAll(/10\.0\.0\.1(\d)/g, 'hub-$1')
      .replace('/etc/ssl/hub.pem', '/etc/nginx/tls/cert.pem')
      .replace('/etc/ssl/hub.key', '/etc/nginx/tls/key.pem')
      .replace('/var/log/nginx/muster.log', '/dev/stdout')
      .replace(/proxy_set_header X-Muster-Proxy-Secret .*;/, 'include /etc/nginx/muster/proxy-secret.conf;')
    expect(textOf('nginx.conf')).toBe(expected)
  })

  it.runIf(canIsolate && hasPrograms('nginx', 'openssl'))(
    'is accepted by nginx, with the files that the head of the compose file makes',
    () => {
      const deploy = mkdtempSync(join(tmpdir(), 'muster-compose-'))
      const folder = join(deploy, 'container')
      try {
        cpSync(join(ROOT, 'deploy'), deploy, { recursive: true })
        const { certificatePem, keyPem } = createCertificate('hub.example.com')
        writeFileSync(join(folder, 'FULLCHAIN'), certificatePem)
        writeFileSync(join(folder, 'PRIVATE_KEY'), keyPem)
        const [, head] = /^# Beside this file.*?^#\n(.*?)^#\n/ms.exec(textOf('compose-cluster.yaml'))!
        const commands = head!.replaceAll(/^# +/gm, '').replaceAll(/FULLCHAIN|PRIVATE_KEY/g, '../$&')
        execFileSync('sh', ['-ec', commands], { cwd: folder })
        const { services, secrets = {} } = composeOf('compose-cluster.yaml')
        for (const { file } of Object.values(secrets))
          expect(readFileSync(join(folder, file), 'utf8')).not.toBe('')
        expect(
          JSON.parse(readFileSync(join(folder, 'secrets/s3.json'), 'utf8')).identities[0].credentials[0]
            .secretKey,
        ).toBe(readFileSync(join(folder, 'secrets/s3-secret'), 'utf8').trim())

        const root = join(folder, 'etc/nginx')
        for (const volume of services.nginx!.volumes!) {
          const [from, to] = volume.split(':') as [string, string]
          cpSync(join(folder, from), join(folder, to), { recursive: true })
        }
        writeFileSync(join(root, 'nginx.conf'), 'events {} http { include /etc/nginx/conf.d/*.conf; }\n')
        writeFileSync(join(folder, 'hosts'), 'hub-1 hub-2 hub-3'.replaceAll(/\S+/g, '127.0.0.1 $&\n'))
        // As in the image of nginx: an empty folder for the cache, and names of the other containers. `/dev/stdout` must be a pipe.
        const script = `for at in /run /var/cache /var/lib/nginx; do mount -t tmpfs tmpfs $at; done
        mkdir /var/cache/nginx && mount --bind hosts /etc/hosts && mount --bind etc/nginx /etc/nginx
        ${PROGRAMS.nginx.path} -t 2>&1 | cat`
        const checked = spawnSync('unshare', [...NAMESPACES, 'sh', '-ec', script], {
          cwd: folder,
          encoding: 'utf8',
        })
        expect(checked.stdout + checked.stderr).toMatch(/test is successful\n$/)
      } finally {
        rmSync(deploy, { recursive: true })
      }
    },
  )
})
