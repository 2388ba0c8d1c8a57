// Sends mutated frames to a hub, forked by a bench; the argument is its order as JSON, the answer one message.
import { fuzzHub } from '@muster/testkit/fuzz'

const fuzzed = await fuzzHub(JSON.parse(process.argv[2]!) as Parameters<typeof fuzzHub>[0])
process.send!(fuzzed)
process.disconnect()
