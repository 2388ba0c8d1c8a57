// `npm run bench -- smoke` and others: a hub as users run it, loaded over loopback by a process of its own; ends by itself.
import { blobs } from './blobs.ts'
import { faults } from './faults.ts'
import { fleet } from './fleet.ts'
import { flood } from './flood.ts'
import { fuzz } from './fuzz.ts'
import { ingest } from './ingest.ts'
import { lists } from './lists.ts'
import { people } from './people.ts'
import { smoke } from './smoke.ts'
import { tunnel } from './tunnel.ts'

type Bench = {
  run: (...options: string[]) => Promise<void>
  /** Who takes longer has failed; `fuzz` bounds itself. */
  limitMinutes?: number
}

const BENCHES: Record<string, Bench> = {
  smoke: { run: smoke, limitMinutes: 5 },
  people: { run: people, limitMinutes: 10 },
  flood: { run: flood, limitMinutes: 10 },
  fuzz: { run: fuzz },
  ingest: { run: ingest, limitMinutes: 10 },
  fleet: { run: fleet, limitMinutes: 15 },
  tunnel: { run: tunnel, limitMinutes: 10 },
  faults: { run: faults, limitMinutes: 15 },
  lists: { run: lists, limitMinutes: 15 },
  blobs: { run: blobs, limitMinutes: 15 },
}

// An interrupted bench ends what it started, which happens at the exit of this process.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))

const name = process.argv[2] ?? 'smoke'
const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined
if (bench) {
  const { run, limitMinutes } = bench
  const outOfTime = (): void => {
    process.stderr.write(`time limit of ${limitMinutes} minutes reached\n`)
    process.exit(2)
  }
  if (limitMinutes !== undefined) setTimeout(outOfTime, limitMinutes * 60_000).unref()
  await run(...process.argv.slice(3))
} else {
  process.stderr.write(`There is no bench "${name}"; there is: ${Object.keys(BENCHES).join(', ')}.\n`)
  process.exitCode = 2
}
