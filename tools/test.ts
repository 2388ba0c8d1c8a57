// Runs the tests and ends with the line `N passed, N failed`. `gate` (`npm test`) runs every check and the tests of what devices and
// people meet. `slow` (`npm run test:slow`) runs the others: what operators use, whole journeys, and tests that need a quiet machine,
// other software or minutes. `axe` (`npm run test:axe`) checks all screens in all sizes and themes. `nightly` runs the fuzz tests with a
// random seed. With several of these arguments, all are run even if an earlier one fails.
import { spawn, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { memoryFolder } from './memory-folder.ts'
import type { Outcome } from './vitest-reporter.ts'

const root = join(import.meta.dirname, '..')
const count = { passed: 0 }
const skipped: string[] = []
const failures: string[] = []

/**
 * Projects of vitest.config.ts with temporary files on a disk. The first two measure time, so their hubs write to a disk, as hubs do. The
 * files of releases are large, and a scratch machine cannot have its own below `/dev`, which it shares.
 */
const ON_DISK = ['slow', 'e2e-slow', 'releases']
/**
 * Folder for the temporary files of the other projects. The database of a test hub has 900 files: on a disk they are made in 0.7 s, in
 * memory in 0.1 s.
 */
const inMemory = memoryFolder()

/** Project with tests that add network interfaces. In a network of its own they do not disturb the browsers of other tests. */
const NETWORK = 'e2e-network'

/** Test runs by name. Each runs projects of vitest.config.ts sequentially, or in parallel with the checks. */
const RUNS: Record<string, () => Promise<void>> = {
  async gate() {
    // The checks and the build keep about one core busy, so the unit tests run in parallel on another. The tests of the hub need the
    // built console, and begin when it is built.
    await Promise.all([tests('unit'), checks().then(() => tests('hub'))])
    await Promise.all([tests('isolated'), tests('e2e')])
  },
  async slow() {
    await check('console', 'node', ['tools/build-console.ts'])
    await tests('slow')
    await tests('e2e-slow')
    const outages = tests(NETWORK).then(() => tests('outages'))
    await Promise.all([tests('long'), tests('releases'), tests('e2e-long'), outages])
    await tests('operation')
    await tests('journeys')
  },
  /** Runs the browser tests and checks the accessibility of each screen with axe, in all sizes and themes. */
  async axe() {
    await check('console', 'node', ['tools/build-console.ts'])
    await tests('axe')
  },
  /** Runs the fuzz tests with a random seed. */
  async nightly() {
    const seed = randomInt(1, 2 ** 31)
    process.env.MUSTER_FUZZ_SEED = String(seed)
    process.stdout.write(`MUSTER_FUZZ_SEED=${seed}\n`)
    const { stdout } = spawnSync('git', ['grep', '-l', "inject('fuzzSeed')", '--', '*.test.ts'], {
      cwd: root,
      encoding: 'utf8',
    })
    const files = stdout.trim().split('\n')
    await tests('unit', files)
    await tests('hub', files)
    await tests('operation', files)
    await tests('slow', files)
  },
}

const names = process.argv.slice(2)
const unknown = names.find(name => !RUNS[name])
if (unknown || names.length === 0)
  throw new Error(`found ${unknown ?? 'no name'}, expected gate, slow, axe or nightly`)
const startedAt = performance.now()
for (const name of names) {
  const from = performance.now()
  await RUNS[name]!()
  process.stdout.write(`\n── ${name} took ${secondsSince(from)} s\n`)
}

// Repeats the failures at the end, because the start of a long log is often truncated. The whole texts are above.
for (const failure of failures) process.stdout.write(`\n✗ ${shortened(failure)}\n`)
// Lists the names of the failed tests once more, because their details above may be long.
if (failures.length > 0)
  process.stdout.write(`\nfailed:\n  ${failures.map(failure => failure.split('\n')[0]).join('\n  ')}\n`)
if (skipped.length > 0) process.stdout.write(`\n${skipped.length} skipped:\n  ${skipped.join('\n  ')}\n`)
process.stdout.write(`\n${secondsSince(startedAt)} s\n${count.passed} passed, ${failures.length} failed\n`)
process.exitCode = failures.length > 0 ? 1 : 0

async function checks(): Promise<void> {
  // One program checks the types and the handling of promises, because both need the types of all files.
  await check('types and promises', 'oxlint', ['--type-aware', '--type-check', '-c', '.oxlintrc.json'])
  await check('format and lint', 'biome', ['ci', '--error-on-warnings', '.'])
  await check('dead code', 'knip', [])
  await check('licences', 'node', ['tools/licences.ts'])
  await check('generated files', 'node', ['tools/generate.ts', '--check'])
  await check('console', 'node', ['tools/build-console.ts'])
}

/** Runs a check and counts it as one test. Its output is printed when it has ended, because other checks run at the same time. */
async function check(what: string, command: string, options: string[]): Promise<void> {
  const from = performance.now()
  const child = spawn(command, options, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, err, status] = await Promise.all([text(child.stdout), text(child.stderr), statusOf(child)])
  process.stdout.write(`\n── ${what}: ${secondsSince(from)} s\n${out}${err}`)
  if (status === 0) count.passed++
  else failures.push(what)
}

/** Runs a project of vitest.config.ts and counts its tests. A run without an outcome counts as one failure. */
async function tests(project: string, files: string[] = []): Promise<void> {
  const from = performance.now()
  process.stdout.write(`\n── ${project} tests\n`)
  const reporters = ['--reporter=default', '--reporter=./tools/vitest-reporter.ts']
  const words = ['vitest', 'run', '--project', project, ...files, ...reporters]
  const [program, ...options] = project === NETWORK ? [...ownNetwork(), ...words] : words
  const child = spawn(program!, options, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    env: inMemory && !ON_DISK.includes(project) ? { ...process.env, TMPDIR: inMemory } : process.env,
  })
  let errorOutput = ''
  child.stderr!.setEncoding('utf8').on('data', chunk => {
    process.stderr.write(chunk)
    errorOutput = (errorOutput + chunk).slice(-4000)
  })
  let outcome: Outcome | undefined
  child.once('message', message => {
    outcome = message as Outcome
  })
  const status = await statusOf(child)
  count.passed += outcome?.passed ?? 0
  skipped.push(...(outcome?.skipped ?? []))
  failures.push(...(outcome?.failures ?? []))
  if (!outcome || (status !== 0 && outcome.failures.length === 0))
    failures.push(`${project} tests: vitest ended with ${status ?? 'a signal'}\n${errorOutput}`)
  process.stdout.write(`── ${project} tests: ${secondsSince(from)} s\n`)
}

/** Words before a command that runs in a network of its own. None where that is not allowed; the tests are skipped there. */
function ownNetwork(): string[] {
  const words = ['unshare', '--net', '--', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
  return spawnSync('unshare', [...words.slice(1), 'true'], { stdio: 'ignore' }).status === 0 ? words : []
}

/** Resolves to the exit code of a process, or null when a signal ended it or it could not start. */
function statusOf(child: ReturnType<typeof spawn>): Promise<number | null> {
  return new Promise(resolve => {
    child.once('error', () => resolve(null))
    child.once('exit', code => resolve(code))
  })
}

/** Cuts the middle out of a text of more than 3,000 characters, so that one failure does not push the others out of a log. */
function shortened(text: string): string {
  return text.length > 3000 ? `${text.slice(0, 2000)}\n[…]\n${text.slice(-1000)}` : text
}

function secondsSince(from: number): string {
  return ((performance.now() - from) / 1000).toFixed(0)
}
