import { spawnSync } from 'node:child_process'
import { chmod, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { ReadStream } from 'node:tty'
import { VERSION } from '@muster/actions/version'
import { describe, expect, it } from 'vitest'
import { askSecret } from './ask-secret.ts'
import { runCli } from './cli.ts'
import { FakeHub } from './testing/fake-hub.ts'
import { temporaryFolder } from './testing/temporary-folder.ts'

const TOKEN = `deployment_${'1'.repeat(66)}`

/** Runs the command `device id` as a device of a fake hub, with a person at the terminal if there is an answer. */
async function deviceId(options: string[], answer?: string) {
  await using hub = await FakeHub.start()
  await using folder = await temporaryFolder()
  let [out, err, asked] = ['', '', '']
  const code = await runCli(['device', 'id', '--hub', hub.url, '--data', folder.path, ...options], {
    out: text => {
      out += text
    },
    err: text => {
      err += text
    },
    input: () => new PassThrough(),
    ...(answer !== undefined && {
      ask: async (question: string) => {
        asked += question
        return answer
      },
    }),
    signal: new AbortController().signal,
    environment: {},
  })
  return { code, out, err, asked: asked.replace(hub.url, 'HUB') }
}

describe('the token', () => {
  it('is read from a file of mode 0600', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'token')
    await writeFile(file, `${TOKEN}\n`, { mode: 0o600 })
    expect(await deviceId(['--token-file', file])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^d_/),
    })
  })

  it.each([0o644, 0o640, 0o604, 0o400, 0o700])('is not read from a file of mode %o', async mode => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'token')
    await writeFile(file, TOKEN)
    await chmod(file, mode)
    const { code, err } = await deviceId(['--token-file', file])
    expect(code).toBe(1)
    expect(err).toContain(`found mode 0${mode.toString(8)} of ${file}, expected a file of mode 0600`)
    expect(err).not.toContain(TOKEN)
  })

  it('is not read from a link, a folder, or a file that is missing or holds something else', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'other')
    await writeFile(file, 'x'.repeat(5000), { mode: 0o600 })
    await symlink(file, join(folder.path, 'link'))
    for (const [name, message] of [
      ['link', 'ELOOP'],
      ['.', 'expected a file of mode 0600'],
      ['missing', 'ENOENT'],
      ['other', 'expected a deployment token'],
    ] as const) {
      const { code, err } = await deviceId(['--token-file', join(folder.path, name)])
      expect(err).toContain(message)
      expect(code).toBe(1)
    }
  })

  it('is asked for at a terminal, which says for which hub', async () => {
    expect(await deviceId([], TOKEN)).toMatchObject({
      code: 0,
      asked: `Muster agent ${VERSION} for HUB\nDeployment token: `,
    })
    expect(await deviceId(['--token', TOKEN], 'unused')).toMatchObject({ code: 0, asked: '' })
    expect(await deviceId([], 'nonsense')).toMatchObject({
      code: 1,
      err: expect.stringContaining('found a text of 8 characters'),
    })
  })
})

describe('a typed secret', () => {
  /** Calls `askSecret` with a fake terminal, which records changes of raw mode and the text that it shows. */
  function terminal() {
    const input = new PassThrough() as unknown as ReadStream
    const modes: boolean[] = []
    input.setRawMode = isRaw => {
      modes.push(isRaw)
      return input
    }
    let shown = ''
    const stopping = new AbortController()
    const asked = askSecret('Token: ', {
      input,
      write: text => {
        shown += text
      },
      signal: stopping.signal,
    })
    return { input: input as unknown as PassThrough, modes, stopping, asked, shown: () => shown }
  }

  it('is not shown, and can be corrected', async () => {
    const { input, asked, modes, shown } = terminal()
    input.write('deplX')
    input.write('\x7f')
    input.write(' oyment \r')
    expect(await asked).toBe('depl oyment')
    expect(shown()).toBe('Token: \n')
    expect(modes).toEqual([true, false])
  })

  it('is bounded', async () => {
    const { input, asked } = terminal()
    input.write(`${'a'.repeat(100_000)}\n`)
    expect(await asked).toHaveLength(1024)
  })

  it('ends with Ctrl+C, with the end of the input, and when the program stops', async () => {
    const interrupted = terminal()
    interrupted.input.write('abc\x03')
    await expect(interrupted.asked).rejects.toThrow('Ctrl+C')
    const over = terminal()
    over.input.end('abc')
    expect(await over.asked).toBe('abc')
    const stopped = terminal()
    stopped.stopping.abort(new Error('stopped by SIGTERM'))
    await expect(stopped.asked).rejects.toThrow('SIGTERM')
    for (const { modes } of [interrupted, over, stopped]) expect(modes).toEqual([true, false])
  })

  it.runIf(process.platform === 'linux' && spawnSync('script', ['--version']).status === 0)(
    'is not echoed by a real terminal',
    () => {
      const main = join(import.meta.dirname, '../muster-agent.js')
      const command = `${process.execPath} ${main} device id --hub http://127.0.0.1:1 --data /nowhere`
      const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], {
        input: 'deployment_nonsense\n',
        encoding: 'utf8',
        timeout: 30_000,
      })
      expect(stdout).toContain('Deployment token: ')
      expect(stdout).toContain('found a text of 19 characters')
    },
  )
})
