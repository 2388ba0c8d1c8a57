import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testHub } from '@muster/testkit'
import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { ConfigError } from '../config-error.ts'
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

it('runs each command of docs/operating.md', async () => {
  await using hub = await testHub()
  const folder = await mkdtemp(join(tmpdir(), 'muster-commands-'))
  try {
    // A relative path refers to the folder in which `npm run hub` was called.
    await writeFile(join(folder, 'password.txt'), 'the password of Grace\n')
    const settings = {
      MUSTER_DATABASE_URL: hub.pool.options.connectionString!,
      MUSTER_DATA_DIR: hub.dataDir,
      MUSTER_PUBLIC_URL: hub.url,
      npm_lifecycle_event: 'hub',
      INIT_CWD: folder,
    }
    const [, chapter] = OPERATING.split('\n## Commands\n')
    const [, block] = /```sh\n(.*?)```/s.exec(chapter!)!
    const commands = block!
      .split('\n')
      .filter(Boolean)
      .map(text => text.replace(/\s*#.*/, ''))
    expect(commands.length).toBeGreaterThan(8)
    for (const command of commands) {
      const [, words] = /^npm run hub -- (.*)$/.exec(command)!
      expect({ command, ...(await runHere(words!.split(' '), settings)) }).toMatchObject({
        command,
        code: 0,
        err: '',
      })
    }
  } finally {
    await rm(folder, { recursive: true })
  }
})
