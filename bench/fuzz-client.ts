// Sends mutated frames to a hub. The argument is the job as JSON; the result is sent as one message. Forked by a bench.
import { fuzzHub } from '@muster/testkit/fuzz'

const fuzzed = await fuzzHub(JSON.parse(process.argv[2]!) as Parameters<typeof fuzzHub>[0])
process.send!(fuzzed)
process.disconnect()
