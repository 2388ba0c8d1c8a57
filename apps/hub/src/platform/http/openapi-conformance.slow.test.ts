import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { testHub } from '@muster/testkit'
import { SCHEMATHESIS_FOLDER } from '@muster/testkit/programs'
import { expect, it } from 'vitest'

/** Path of schemathesis, a fuzzer for OpenAPI documents, as installed by `npm run test:setup`. Without it, PATH is searched. */
const OWN = join(SCHEMATHESIS_FOLDER, 'bin/schemathesis')
const PROGRAM = existsSync(OWN) ? OWN : 'schemathesis'
/** Duration of a run, in seconds; `npm run test:schema` sets five minutes. */
const RUN_SECS = Number(process.env.MUSTER_SCHEMA_SECS ?? 20)
const isInstalled = spawnSync(PROGRAM, ['--version']).status === 0

it.skipIf(!isInstalled)(
  `S20: schemathesis finds no answer that the OpenAPI document does not allow`,
  async () => {
    await using hub = await testHub()
    const token = await hub.userToken(await hub.user({ isAdmin: true }))
    const folder = await mkdtemp(join(tmpdir(), 'muster-schema-'))
    try {
      // The token is in the fuzzer's configuration file. If a command-line option set the `Authorization` header, the fuzzer
      // would send it even in requests that test a call without credentials.
      await writeFile(join(folder, 'schemathesis.toml'), `[auth.openapi.userToken]\nbearer = "${token}"\n`)
      const child = spawn(
        PROGRAM,
        [
          'run',
          `${hub.url}/api/openapi.json`,
          // The document contains the public URL, under which this test cannot reach the hub.
          ...['--url', hub.url],
          ...['--phases', 'examples,coverage,fuzzing'],
          ...['--max-time', String(RUN_SECS)],
          ...['--seed', '20'],
          // Frequent calls without credentials are answered with 429 instead of the 401 that this check expects. The permission tests
          // cover such calls.
          ...['--exclude-checks', 'ignored_auth'],
          '--continue-on-failure',
          '--no-color',
        ],
        { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] },
      )
      const ended = once(child, 'exit')
      const [output, problems, [exitCode]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        ended,
      ])
      expect(exitCode, `${output}\n${problems}`).toBe(0)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
  (RUN_SECS + 120) * 1000,
)
