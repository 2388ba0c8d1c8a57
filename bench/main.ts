// `npm run bench -- smoke` or `people`: a hub as users run it, loaded over loopback by a process of its own; ends by itself.
import { people } from './people.ts'
import { smoke } from './smoke.ts'

const BENCHES: Record<string, () => Promise<void>> = { smoke, people }

const name = process.argv[2] ?? 'smoke'
const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined
if (bench) await bench()
else {
  process.stderr.write(`There is no bench "${name}"; there is: ${Object.keys(BENCHES).join(', ')}.\n`)
  process.exitCode = 2
}
