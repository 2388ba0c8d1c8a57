import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { testHub } from '@muster/testkit'
import { hasPrograms } from '@muster/testkit/programs'
import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { ConfigError } from '../platform/config/config-error.ts'
import type { CommandLine } from './command-line.ts'
import { runHere } from './testing/run-here.ts'

const OPERATING = await readFile(join(import.meta.dirname, '../../../../docs/operating.md'), 'utf8')

it('has help for each command, and every command is in docs/operating.md', async () => {
  const { code, out, err } = await runHere(['--help'])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const names = [...out.matchAll(/^ {2}([a-z][a-z-]*) (?!\[command\])/gm)].map(([, name]) => name!)
  expect(names).toEqual(expect.arrayContaining(['check-config', 'doctor', 'migrate', 'admin', 'audit', 'gc']))
  for (const name of names) {
    const help = await runHere([name, '--help'])
    expect(help).toMatchObject({ code: 0, err: '' })
    expect(help.out).toMatch(new RegExp(`^Usage: muster-hub ${name} `))
    expect(help.out).toContain('--json')
    expect(OPERATING).toMatch(new RegExp(`(muster-hub|npm run hub --) ${name}\\b`))
  }
})

it('answers wrong usage with one line and 2, and a group without a command with its help', async () => {
  expect(await runHere(['nothing'])).toEqual({
    code: 2,
    out: '',
    err: "unknown command 'nothing'. See muster-hub --help\n",
  })
  expect(await runHere(['migrate', 'now'])).toEqual({
    code: 2,
    out: '',
    err: expect.stringMatching(/^too many arguments[^\n]*\. See muster-hub migrate --help\n$/),
  })
  expect(await runHere(['audit'])).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringMatching(/^Usage: muster-hub audit /),
  })
})

it('answers an expected error with one line, and another one with its stack', async () => {
  const failing = (error: Error) => (program: Command, _line: CommandLine) =>
    void program.command('fail').action(() => {
      throw error
    })
  const fails = (error: Error) => runHere(['fail'], {}, { commands: [failing(error)] })
  expect(await fails(new ConfigError('MUSTER_X: found 1, expected 2.'))).toEqual({
    code: 1,
    out: '',
    err: 'MUSTER_X: found 1, expected 2.\n',
  })
  expect(await fails(new Error('a bug'))).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^Error: a bug\n {4}at /),
  })
})

/**
 * Commands in the blocks of docs/operating.md for a shell. Lines that end with a backslash and here-documents belong to one command, and
 * parts in brackets are optional.
 */
const COMMANDS = [...OPERATING.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block]) =>
  (block!.match(/^.*<<'END'\n[\s\S]*?^END$|^(?:.*\\\n)*.+$/gm) ?? []).map(command =>
    command.replace(/ +#[^\n]*$/, ''),
  ),
)
const HUB_COMMAND = /^npm run hub -- (.*)$/
const EXPORT = /^curl -G /

/** Commands of docs/operating.md that other tests run, and where. */
const RUN_ELSEWHERE: [command: RegExp, file: string][] = [
  [/\bnpx muster-hub (backup|restore|database)\b/, 'platform/backup/processes.slow.test.ts'],
  [
    /^curl -H "Authorization: Bearer \$\(cat \.muster\/operator-token\)"/,
    'platform/operator/metrics.test.ts',
  ],
  [/\binstall-muster\.sh|\/muster-agent\/install\.sh/, 'platform/http/install.slow.test.ts'],
  [
    /^(install|mkdir|cat|chmod|printf|systemctl) .*(muster-agent|nexigon)/,
    'platform/http/install.slow.test.ts',
  ],
]

it('runs each command of docs/operating.md, or names the test that does', () => {
  const isRunHere = (command: string): boolean => HUB_COMMAND.test(command) || EXPORT.test(command)
  const isRunElsewhere = (command: string): boolean =>
    RUN_ELSEWHERE.some(([pattern]) => pattern.test(command))
  expect(COMMANDS.length).toBeGreaterThan(25)
  expect(COMMANDS.filter(command => !isRunHere(command) && !isRunElsewhere(command))).toEqual([])
  for (const [pattern, file] of RUN_ELSEWHERE) {
    expect(COMMANDS.filter(command => pattern.test(command)).length, String(pattern)).toBeGreaterThan(0)
    expect(existsSync(join(import.meta.dirname, '..', file)), file).toBe(true)
  }
})

it('runs the commands of docs/operating.md for the hub, and the export', async () => {
  await using hub = await testHub()
  const folder = await mkdtemp(join(tmpdir(), 'muster-commands-'))
  try {
    // A relative path refers to the folder in which `npm run hub` was called.
    await writeFile(join(folder, 'password.txt'), 'the password of Grace\n')
    const settings = {
      MUSTER_DATABASE_URL: hub.pool.options.connectionString!,
      MUSTER_DATA_DIR: hub.dataDir,
      MUSTER_PUBLIC_URL: hub.url,
      MUSTER_PORT: String(hub.address.port),
      npm_lifecycle_event: 'hub',
      INIT_CWD: folder,
    }
    await hub.pool.query(`update audit_event set created_at = created_at - interval '10 seconds'`)
    await hub.runJob('audit_SealRows', {})
    const { rows } = await hub.pool.query<{ hash: string }>(
      `select encode(hash, 'hex') as hash from audit_seal order by seal_no desc limit 1`,
    )
    for (const command of COMMANDS) {
      const [, words] = HUB_COMMAND.exec(command) ?? []
      if (words === undefined) continue
      const given = words.replace('HASH', rows[0]!.hash).replace(/[[\]]/g, '').split(' ')
      expect({ command, ...(await runHere(given, settings)) }).toMatchObject({ command, code: 0, err: '' })
    }

    if (!hasPrograms('curl')) return
    const admin = await hub.user({ isAdmin: true })
    const command = COMMANDS.find(one => EXPORT.test(one))!
    expect(command).toContain('https://hub.example.com/')
    await promisify(execFile)('/bin/sh', ['-c', command.replace('https://hub.example.com', hub.url)], {
      cwd: folder,
      env: { PATH: '/usr/bin:/bin', TOKEN: await hub.userToken(admin) },
    })
    const [name] = (await readdir(folder)).filter(file => file.endsWith('.csv'))
    expect((await readFile(join(folder, name!), 'utf8')).split('\n')[0]).toContain('event')
  } finally {
    await rm(folder, { recursive: true })
  }
})
