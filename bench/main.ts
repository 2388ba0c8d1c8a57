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

const BENCHES: Record<string, (...options: string[]) => Promise<void>> = {
  smoke,
  people,
  flood,
  fuzz,
  ingest,
  fleet,
  tunnel,
  faults,
  lists,
  blobs,
}

// An interrupted bench ends what it started, which happens at the exit of this process.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))

const name = process.argv[2] ?? 'smoke'
const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined
if (bench) await bench(...process.argv.slice(3))
else {
  process.stderr.write(`There is no bench "${name}"; there is: ${Object.keys(BENCHES).join(', ')}.\n`)
  process.exitCode = 2
}
