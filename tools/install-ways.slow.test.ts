import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { VERSION } from '@muster/actions/version'
import { hasS3Server, until } from '@muster/testkit'
import { FRONT_SECRET, nginxOfNodes } from '@muster/testkit/front'
import { hasPrograms } from '@muster/testkit/programs'
import { canStartMachine, type ScratchMachine, startScratchMachine } from '@muster/testkit/scratch-machine'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ROOT } from './release/run.ts'
import { builtRelease } from './testing/built-release.ts'
import { copyPackageAs } from './testing/debian-package.ts'

const DOCUMENT = readFileSync(join(ROOT, 'docs/install.md'), 'utf8')
const ARCH = process.arch === 'x64' ? 'amd64' : 'arm64'
const OTHER_ARCH = process.arch === 'x64' ? 'arm64' : 'amd64'
/** Version of the packages and archives from which the test upgrades. Their files are those of the release. */
const OLDER = '0.0.9'
/** Answer of a hub that serves. */
const READY = '{"status":"ready"}'
const MIB = 1024 ** 2
const DEB = `muster-hub_${VERSION}_${ARCH}.deb`
const OLDER_DEB = `muster-hub_${OLDER}_${ARCH}.deb`
const NO_FILE = '/etc/muster/tls/none.pem'
const HUB = '/usr/lib/muster-hub'
/** Makes a program trust the certificate of the cluster. */
const TRUST = 'NODE_EXTRA_CA_CERTS=/etc/ssl/hub.pem'
const canFollow =
  canStartMachine() &&
  hasS3Server() &&
  hasPrograms('adduser', 'apt-get', 'deb-systemd-helper', 'dpkg-deb', 'useradd') &&
  hasPrograms('curl', 'ip', 'nginx', 'openssl', 'systemd-analyze')

/** Commands of the document that no test follows. */
const NOT_FOLLOWED: [command: RegExp, reason: string][] = [
  [/^npm start$/, 'e2e/hub-start.test.ts runs the hub of a checkout'],
  [/\bdocker\b/, 'the tests have no container engine'],
  [/^kubectl\b/, 'the tests have no Kubernetes'],
  [/^MUSTER_RELEASE_KEY=release\.pem npm run release$/, 'the release of this test is made so'],
  [
    /\bmuster\.(asc|list)\b|^sudo apt-get update && |^gpg |^MUSTER_APT_KEY=/,
    'tools/apt.test.ts makes a repository and reads it',
  ],
]

/** Stand-ins for programs that ask people. `sudoedit` writes the text that the test has put into `/mnt/edits`. */
const STAND_INS = {
  sudo: 'if [ "$1" = -u ]; then user=$2; shift 2; exec runuser -u "$user" -- "$@"; fi; exec "$@"',
  sudoedit: 'cat "/mnt/edits/$(basename "$1")" >"$1"',
}

/** Commands of the blocks for a shell, by the heading above them. */
function commandsOf(document: string): Map<string, string[]> {
  const found = new Map<string, string[]>()
  let heading = ''
  for (const [, title, block] of document.matchAll(/^##+ ([^\n]*)$|^```sh\n(.*?)^```$/gms)) {
    if (title !== undefined) heading = title
    const lines = (block ?? '').split('\n').map(line => line.replace(/\s+#.*$/, ''))
    found.set(heading, [...(found.get(heading) ?? []), ...lines.filter(line => line !== '')])
  }
  return found
}

describe.runIf(canFollow)(
  'the ways of docs/install.md, followed without a network',
  { timeout: 600_000 },
  () => {
    const left = commandsOf(DOCUMENT)
    let folder: string
    let machine: ScratchMachine

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'muster-ways-'))
      const release = builtRelease()
      const file = (name: string): string => join(release.folder, name)
      const deb = file(DEB)
      const older = join(folder, OLDER_DEB)
      copyPackageAs(deb, older, { Version: OLDER })
      const other = join(folder, `muster-hub_${VERSION}_${OTHER_ARCH}.deb`)
      copyPackageAs(deb, other, { Architecture: OTHER_ARCH })
      const files = [
        ...[deb, older, other, file(`muster-agent_${VERSION}_${ARCH}.deb`)],
        ...[file(`muster-hub-${VERSION}-linux-${process.arch}.tar.gz`), file('SHA256SUMS')],
        ...[file('SHA256SUMS.sig'), release.publicKey],
      ]
      machine = await startScratchMachine(files, ROOT)
      mkdirSync(join(machine.folder, 'edits'))
      for (const [name, text] of Object.entries(STAND_INS))
        await done(
          `printf '#!/bin/sh\\n%s\\n' '${text}' >/usr/local/bin/${name} && chmod 755 /usr/local/bin/${name}`,
        )
      await done(`echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/yes`)
      // Logs go to files, because the machine has no journal.
      for (const unit of ['muster-hub', 'muster-agent']) await addToUnit(unit, `${unit}.log`)
    }, 900_000)
    afterAll(async () => {
      await machine?.[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true })
    })

    /** Runs a command that must succeed, and returns its output. */
    async function done(command: string): Promise<string> {
      const { status, output } = await machine.run(command)
      expect(status, `${command}: ${output}`).toBe(0)
      return output
    }

    /** Sends the log of a unit to a file in `/mnt`, and adds a line to the unit. */
    function addToUnit(unit: string, log: string, more = ''): Promise<string> {
      const drop = `/etc/systemd/system/${unit}.service.d`
      const text = `[Service]\\nStandardOutput=append:/mnt/${log}\\nStandardError=append:/mnt/${log}\\n${more}\\n`
      return done(`mkdir -p ${drop} && printf '${text}' >${drop}/test.conf`)
    }

    /** Puts a text where `sudoedit` finds it. */
    function edit(name: string, text: string): void {
      writeFileSync(join(machine.folder, 'edits', name), text)
    }

    /** Replaces versions and architectures. */
    function adapt(command: string, version: string): string {
      return command
        .replaceAll(/(?<!MUSTER_)VERSION/g, version)
        .replaceAll('OLDER', OLDER)
        .replace(/linux-x64/g, `linux-${process.arch}`)
        .replace(/_(amd64|arm64)\.deb/, `_${ARCH}.deb`)
    }

    /** Runs the next commands below a heading, up to the end of the section or `count`. Returns their output. */
    async function follow(
      heading: string,
      { count = 99, version = VERSION, env = '' } = {},
    ): Promise<string> {
      const commands = left.get(heading)!
      const next = commands.splice(0, count)
      expect(next.length, heading).toBeGreaterThan(0)
      const outputs: string[] = []
      for (const command of next)
        if (!NOT_FOLLOWED.some(([pattern]) => pattern.test(command)))
          outputs.push(await done(env + adapt(command, version)))
      return outputs.join('')
    }

    /** Version of the package of the hub, and what dpkg calls its state. */
    function installed(): Promise<string> {
      return done("dpkg --status muster-hub | sed -n 's/^\\(Status: install ok\\|Version:\\) //p' | xargs")
    }

    /** Waits until the hub answers, and returns its answer. */
    async function readiness(): Promise<string> {
      let answer = ''
      await until(
        'the hub answers',
        async () => {
          const { status, output } = await machine.run('curl -fsS http://localhost:6878/readyz')
          answer = output
          return status === 0
        },
        60_000,
      )
      return answer
    }

    /** Files of the hub that a removal must not leave. A hub of a checkout that root runs has its database in `/var/lib/muster`. */
    async function leftFiles(): Promise<string> {
      const places = '/etc/muster* /var/lib/muster-* /var/cache/muster* /usr/bin/muster*'
      return (await machine.run(`ls -d ${places} 2>/dev/null`)).output
    }

    /** Process id of the service. */
    function processId(): Promise<string> {
      return done('systemctl show --property=MainPID --value muster-hub')
    }

    /** Runs a command that must fail with this reason, while the hub goes on. */
    async function refused(command: string, reason: RegExp): Promise<void> {
      const running = await processId()
      const { status, output } = await machine.run(command)
      expect(output).toMatch(reason)
      expect(status, output).not.toBe(0)
      expect(await processId()).toBe(running)
      expect(await readiness()).toContain('"status"')
    }

    /** Writes settings that name a certificate which is not there, and returns the function that takes them back. */
    async function loseCertificate(): Promise<() => Promise<string>> {
      const text = readFileSync(join(machine.folder, 'edits/hub.toml'), 'utf8')
      await done(`printf 'tls-cert = "${NO_FILE}"\\ntls-key = "${NO_FILE}"\\n' >>/etc/muster/hub.toml`)
      return () => {
        writeFileSync(join(machine.folder, 'hub.toml'), text)
        return done('cat hub.toml >/etc/muster/hub.toml')
      }
    }

    /** Runs a statement in the database of the running hub. */
    async function query(statement: string): Promise<void> {
      const code = `const { instanceAccess } = await import('${HUB}/apps/hub/src/platform/database/server/instance-access.ts')
      const { withClient } = await import('${HUB}/apps/hub/src/platform/database/server/with-client.ts')
      const { quietLog } = await import('${HUB}/apps/hub/src/commands/instance-database.ts')
      const instance = await instanceAccess({ dataDir: '/var/lib/muster-hub' }, quietLog({ logLevel: 'warn' }))
      await withClient(instance.access.owner, client => client.query(process.argv[2]))
      await instance[Symbol.asyncDispose]()`
      writeFileSync(join(machine.folder, 'query.mjs'), code)
      await done(`runuser -u muster -- ${HUB}/node/bin/node query.mjs "${statement}"`)
    }

    it('verifies the files of a release', async () => {
      await done(`mkdir keys && cd keys && ${left.get('Releases')!.shift()}`)
      const output = await follow('Releases')
      expect(output).toContain('Signature Verified Successfully')
      expect(output).toContain(`muster-hub_${VERSION}_${ARCH}.deb: OK`)
    })

    it('tries an archive', async () => {
      expect(left.get('Try it')!.shift()).toBe('npm start')
      await follow('Try it', { count: 1 })
      const [command] = left.get('Try it')!.splice(0, 1)
      const hub = machine.start(`mkdir try && cd try && echo $$ >pid && exec ../${adapt(command!, VERSION)}`)
      let output = ''
      for (const stream of [hub.stdout!, hub.stderr!]) stream.on('data', chunk => (output += chunk))
      await until('the sign-in is printed', () => /^ {2}email +admin@muster\.local$/m.test(output), 60_000)
      await done('kill $(cat try/pid)')
      await until('the hub has ended', () => hub.exitCode !== null, 60_000)
      expect(hub.exitCode, output).toBe(0)
      await done('rm -r try muster-hub-*/')
    })

    it('makes the secret of a container', async () => {
      await follow('Containers')
      await follow('Container')
      const secret = 'deploy/container/secrets/proxy-secret'
      expect(await done(`stat --format=%a deploy/container/secrets ${secret} | xargs`)).toBe('700 644\n')
      expect(await done(`cat ${secret}`)).toMatch(/^[0-9a-f]{64}\n$/)
    })

    it('installs one server with the package', async () => {
      edit('hub.toml', 'public-url = "http://localhost:6878"\ninstance-name = "Edited"\n')
      await follow('Debian and Ubuntu', { count: 1, version: OLDER })
      // The package waits for the start of a hub for 100 s at most.
      expect(await readiness()).toBe(READY)
      expect(await follow('Debian and Ubuntu', { count: 2 })).toContain('admin@muster.local')
      expect(await installed()).toBe(`installed ${OLDER}\n`)
      await follow('Debian and Ubuntu')
      expect(await readiness()).toBe(READY)
      // The embedded PostgreSQL is also the server of the cluster below.
      await done(
        `cp -r "$(dirname "$(dirname "$(find /var/lib/muster-hub -name initdb -type f)")")" /srv/postgres`,
      )
    })

    it('goes on with the old version when an upgrade is not possible', async () => {
      await refused(
        `dpkg --install muster-hub_${VERSION}_${OTHER_ARCH}.deb`,
        /package architecture \(\w+\) does not match system/,
      )
      await done('mount --bind /usr /usr && mount -o remount,bind,ro /usr')
      await refused(`dpkg --install ${DEB}`, /Read-only file system/)
      await done('umount --lazy /usr')
      await machine.setRoom(40 * MIB)
      await refused(`dpkg --install ${DEB}`, /No space left on device/)
      await machine.setRoom()

      await refused(
        `setarch --uname-2.6 dpkg --install ${DEB}`,
        /^muster-hub does not run on this machine: found Linux 2\.6\.\S+ on (\w+), expected Linux 4\.18 or newer on \1 with glibc 2\.28 or newer\.$/m,
      )

      const mend = await loseCertificate()
      const check = commandsOf(DOCUMENT)
        .get('Debian and Ubuntu')!
        .find(command => command.includes('check-config'))!
      await refused(
        check,
        /^MUSTER_TLS_CERT: found \S+\/none\.pem \(ENOENT\), expected a certificate in PEM\.\n$/,
      )
      await mend()

      await refused(
        `timeout --foreground --signal=KILL 2 dpkg --install ${DEB} || { [ $? = 137 ] && echo 'cut off'; false; }`,
        /^cut off$/m,
      )
    })

    it('upgrades the package, goes back, and installs without the internet', async () => {
      const expectRunning = async (version: string): Promise<void> => {
        expect(await installed()).toBe(`installed ${version}\n`)
        expect(await readiness()).toBe(READY)
      }
      // The last upgrade of the test before was cut off.
      const [complete] = left.get('Package')!.splice(1, 1)
      await done(complete!)
      await follow('Package', { count: 1 })
      await expectRunning(VERSION)
      await follow('Package')
      await expectRunning(OLDER)

      const running = await processId()
      const mend = await loseCertificate()
      const output = await done(`dpkg --install ${DEB}`)
      expect(output.match(/^.*MUSTER_TLS_CERT.*$/gm)).toEqual([
        `muster-hub was not restarted, and version ${OLDER} goes on: MUSTER_TLS_CERT: found ${NO_FILE} (ENOENT), expected a certificate in PEM. After a change: systemctl restart muster-hub`,
      ])
      expect(await processId()).toBe(running)
      await expectRunning(VERSION)
      await mend()

      await follow('Without the internet')
      await expectRunning(VERSION)
      expect(await processId()).not.toBe(running)
      expect(await done('cat /etc/muster/hub.toml')).toContain('Edited')

      await query("insert into migration (name, checksum) values ('9999_new.sql', '')")
      await refused(
        `dpkg --install ${OLDER_DEB}`,
        new RegExp(
          `^muster-hub ${VERSION} goes on, because nothing shows that ${OLDER} can run on its database: .* 9999_new\\.sql is not known in release ${OLDER}, and it suits newer releases only\\. To go back anyway: systemctl stop muster-hub$`,
          'm',
        ),
      )
      await expectRunning(VERSION)
      await query("delete from migration where name = '9999_new.sql'")
    })

    it('removes the package, installs the archive on another Linux, upgrades it, and removes it', async () => {
      const removal = commandsOf(DOCUMENT).get('Removing')!.slice(-2)
      await follow('Removing', { count: 2 })
      for (const command of removal) await done(command)
      expect(await leftFiles()).toBe('')

      await done(`mkdir -p older && tar -xzf muster-hub-${VERSION}-linux-${process.arch}.tar.gz -C older`)
      await done(`mv older/muster-hub-* /opt/muster-hub-${OLDER}-linux-${process.arch}`)
      await done(`tar -czf muster-hub-${OLDER}-linux-${process.arch}.tar.gz --files-from=/dev/null`)
      await follow('Another Linux', { version: OLDER })
      const at = async (): Promise<string> => {
        await readiness()
        return done('readlink /proc/$(systemctl show --property=MainPID --value muster-hub)/exe')
      }
      expect(await at()).toContain(`/muster-hub-${OLDER}-`)
      await follow('Archive', { count: 4 })
      expect(await at()).toContain(`/muster-hub-${VERSION}-`)
      await follow('Archive')
      expect(await at()).toContain(`/muster-hub-${OLDER}-`)
      await follow('Removing')
      await done(`rm -r /opt/muster-hub-*`)
      expect(await leftFiles()).toBe('')
    })

    it('runs a cluster of three nodes behind nginx, and a device connects', async () => {
      // All machines of the example are addresses of this one.
      await done('for host in 5 10 11 12 13; do ip address add 10.0.0.$host/32 dev lo; done')
      await done('echo 10.0.0.10 hub.example.com files.example.com >>/etc/hosts')
      await done(
        'openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=hub.example.com -addext subjectAltName=DNS:hub.example.com,DNS:files.example.com -keyout /etc/ssl/hub.key -out /etc/ssl/hub.pem 2>&1',
      )
      await done(
        'install -d -o nobody /srv/database && runuser -u nobody -- /srv/postgres/bin/initdb -D /srv/database -U muster -A trust -E UTF8',
      )
      await done('echo "host all all 10.0.0.0/24 trust" >>/srv/database/pg_hba.conf')
      machine.start(
        'exec runuser -u nobody -- /srv/postgres/bin/postgres -D /srv/database -h 10.0.0.5 -k /srv/database >>/mnt/postgres.log 2>&1',
      )
      const storage = await s3Server()

      await follow('Cluster', { count: 4 })
      expect((await machine.run('systemctl is-active muster-hub')).output).toBe('inactive\n')
      edit('database-url', 'postgresql://muster@10.0.0.5/postgres\n')
      edit('s3-secret', `${storage.secretAccessKey}\n`)
      const [, toml] = /^```toml\n(public-url.*?)^```$/ms.exec(DOCUMENT)!
      edit(
        'hub.toml',
        toml!
          .replace('bucket = "muster"', `bucket = "${storage.bucket}"`)
          .replace('access-key-id = "muster"', `access-key-id = "${storage.accessKeyId}"`),
      )
      await follow('Cluster', { count: 4 })
      expect(await done("stat --format='%U:%G %a' /etc/muster/secrets/* | sort -u")).toBe('root:muster 640\n')
      await addToUnit('muster-hub', 'node-1.log', `Environment=${TRUST}`)
      await follow('Cluster', { count: 2 })
      // The other nodes have settings, data and units of their own on this machine.
      for (const node of [2, 3]) {
        await done(`cp -a /etc/muster/hub.toml /etc/muster/hub-${node}.toml`)
        await done(
          `sed -i 's/node-1/node-${node}/; s/10\\.0\\.0\\.11/10.0.0.1${node}/' /etc/muster/hub-${node}.toml`,
        )
        await done(
          `sed 's|hub\\.toml|hub-${node}.toml|; s#\\(lib/\\|cache/\\|run/\\|Directory=\\)muster-hub#&-${node}#' /lib/systemd/system/muster-hub.service >/etc/systemd/system/muster-hub-${node}.service`,
        )
        await addToUnit(`muster-hub-${node}`, `node-${node}.log`, `Environment=${TRUST}`)
        await done(`systemctl daemon-reload && systemctl start muster-hub-${node}`)
      }

      const secret = (await done('cat /etc/muster/secrets/proxy-secret')).trim()
      const files = readFileSync(join(ROOT, 'deploy/container/s3.conf'), 'utf8')
        .replace(/ +resolver .*\n/, '')
        .replace('set $storage s3;', '')
        .replace('http://$storage:8333', storage.endpoint)
        .replace('/dev/stdout', '/var/log/nginx/files.log')
        .replace('/etc/nginx/tls/cert.pem', '/etc/ssl/hub.pem')
        .replace('/etc/nginx/tls/key.pem', '/etc/ssl/hub.key')
      // nginx is on the machine of the nodes, and would choose their address as its own.
      const nginxFiles = ['proxy_bind 10.0.0.10;\n', nginxOfNodes().replace(FRONT_SECRET, secret), files]
      edit('muster.conf', nginxFiles.join(''))
      await done('echo cacert=/etc/ssl/hub.pem >/root/.curlrc')
      const nginx = await follow('Cluster', { count: 6 })
      expect(nginx).toContain('test is successful')
      const request = left.get('Cluster')![0]!
      await until('the cluster answers', async () => (await machine.run(request)).status === 0, 60_000)
      expect(await follow('Cluster', { count: 1 })).toBe(READY)
      const doctor = await follow('Cluster', { env: `${TRUST} ` })
      expect(doctor).toMatch(/^ok +storage/m)
      expect(doctor).toMatch(/^ok +bus/m)

      const file = '/var/lib/muster-hub/initial-admin.json'
      await until('the sign-in is written', async () => (await machine.run(`test -s ${file}`)).status === 0)
      const admin = JSON.parse(await done(`cat ${file}`)) as {
        email: string
        password: string
        deploymentToken: string
      }
      expect(await nodesOf(admin)).toEqual(['node-1 Running', 'node-2 Running', 'node-3 Running'])

      await addToUnit('muster-agent', 'agent.log', `Environment=${TRUST}`)
      await follow('The agent', { count: 2 })
      const agent = await done('cat /etc/nexigon/agent.toml')
      edit('agent.toml', agent.replace('deployment_…', admin.deploymentToken))
      await follow('The agent')
      const log = (): string => readFileSync(join(machine.folder, 'agent.log'), 'utf8')
      await until('the device is connected', () => log().includes('connected as d_'), 60_000).catch(cause => {
        throw new Error(log(), { cause })
      })
    })

    it('leaves no command of the document out', () => {
      const isFollowed = (command: string): boolean =>
        !NOT_FOLLOWED.some(([pattern]) => pattern.test(command))
      expect([...left.values()].flat().filter(isFollowed)).toEqual([])
      const all = [...commandsOf(DOCUMENT).values()].flat()
      expect(NOT_FOLLOWED.filter(([pattern]) => !all.some(command => pattern.test(command)))).toEqual([])
    })

    /** Starts the S3 server of the testkit on the machine. */
    async function s3Server(): Promise<{
      endpoint: string
      bucket: string
      accessKeyId: string
      secretAccessKey: string
    }> {
      const code = `const { s3Server } = await import('${ROOT}/testkit/src/s3-server.ts')
      console.log(JSON.stringify(await s3Server())); setInterval(() => {}, 1e6)`
      writeFileSync(join(machine.folder, 's3.mjs'), code)
      const server = machine.start(`exec ${process.execPath} s3.mjs`)
      let output = ''
      for (const stream of [server.stdout!, server.stderr!]) stream.on('data', chunk => (output += chunk))
      await until('the S3 server has started', () => output.endsWith('}\n'), 60_000).catch(cause => {
        throw new Error(output, { cause })
      })
      return JSON.parse(output)
    }

    /** Names and states of the nodes, as the first administrator sees them through the load balancer. */
    async function nodesOf(admin: { email: string; password: string }): Promise<string[]> {
      const code = `const headers = { 'content-type': 'application/json', origin: 'https://hub.example.com' }
      const post = (path, body, more) => fetch('https://hub.example.com' + path, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(body) })
      const session = await post('/api/private/login', { ...${JSON.stringify({ email: admin.email, password: admin.password })}, remember: false })
      const cookie = session.headers.get('set-cookie').split(';')[0]
      console.log(await (await post('/api/v1/actions/invoke/cluster_GetDetails', {}, { cookie })).text())`
      writeFileSync(join(machine.folder, 'nodes.mjs'), code)
      const output = await done(`${TRUST} ${HUB}/node/bin/node nodes.mjs`)
      const { nodes } = JSON.parse(output) as { nodes: { name: string; state: string }[] }
      return nodes.map(({ name, state }) => `${name} ${state}`).sort()
    }
  },
)
