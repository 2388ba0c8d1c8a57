// Entry point of `npm run bench -- NAME`. Runs one bench against a hub that is started as in production. Separate processes load
// the hub over loopback.
import { agent } from './agent.ts'
import { backup } from './backup.ts'
import { blobs } from './blobs.ts'
import { bulk, bulkLabels } from './bulk.ts'
import { cluster } from './cluster.ts'
import { compare } from './compare.ts'
import { ends } from './ends.ts'
import { enrol } from './enrol.ts'
import { faults } from './faults.ts'
import { fleet } from './fleet.ts'
import { flood } from './flood.ts'
import { fuzz } from './fuzz.ts'
import { growth } from './growth.ts'
import { hostile } from './hostile.ts'
import { hostileDatabase } from './hostile-database.ts'
import { ingest } from './ingest.ts'
import { interact } from './interactions.ts'
import { lists } from './lists.ts'
import { overload } from './overload.ts'
import { paint } from './paint.ts'
import { people } from './people.ts'
import { releases } from './releases.ts'
import { returns } from './returns.ts'
import { sizes } from './sizes.ts'
import { smoke } from './smoke.ts'
import { soak } from './soak.ts'
import { start } from './start.ts'
import { tunnel } from './tunnel.ts'

type Bench = {
  run: (...options: string[]) => Promise<void>
  /** Time limit in minutes, after which a bench has failed. Undefined for `fuzz` and `soak`, which end by themselves. */
  limitMinutes?: number
}

const BENCHES: Record<string, Bench> = {
  smoke: { run: smoke, limitMinutes: 5 },
  people: { run: people, limitMinutes: 10 },
  flood: { run: flood, limitMinutes: 10 },
  fuzz: { run: fuzz },
  hostile: { run: hostileCallers, limitMinutes: 30 },
  ingest: { run: ingest, limitMinutes: 10 },
  compare: { run: compare, limitMinutes: 20 },
  fleet: { run: fleet, limitMinutes: 15 },
  growth: { run: growth, limitMinutes: 20 },
  tunnel: { run: tunnel, limitMinutes: 10 },
  ends: { run: ends, limitMinutes: 10 },
  enrol: { run: enrol, limitMinutes: 10 },
  cluster: { run: cluster, limitMinutes: 30 },
  faults: { run: faults, limitMinutes: 15 },
  lists: { run: lists, limitMinutes: 15 },
  releases: { run: releases, limitMinutes: 10 },
  returns: { run: returns, limitMinutes: 10 },
  sizes: { run: sizes, limitMinutes: 10 },
  bulk: { run: bulk, limitMinutes: 10 },
  'bulk-labels': { run: bulkLabels, limitMinutes: 10 },
  blobs: { run: blobs, limitMinutes: 15 },
  backup: { run: backup, limitMinutes: 30 },
  paint: { run: paint, limitMinutes: 20 },
  overload: { run: overload, limitMinutes: 5 },
  soak: { run: soak },
  agent: { run: agent, limitMinutes: 10 },
  start: { run: start, limitMinutes: 10 },
  interact: { run: interact, limitMinutes: 15 },
}

/** Runs the attacks on connections, rates and rows, and without `only` those on the database. */
async function hostileCallers(only?: string): Promise<void> {
  await hostile(only)
  await hostileDatabase(only)
}

// On an interrupt, exit handlers stop the processes that the bench started.
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
