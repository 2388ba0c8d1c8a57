// Starts a hub that counts connections from loopback addresses like those from any other address, so that a bench on this machine can attack
// it from an address of its own, 127.0.0.2. It plans with so few file descriptors that one hostile caller could take all of them. Prints the
// startup banner, and stops at SIGTERM.
import { once } from 'node:events'
import { createHub } from '../apps/hub/src/hub.ts'
import { loadConfig } from '../apps/hub/src/platform/config/config.ts'
import { createLog } from '../apps/hub/src/platform/runtime/log.ts'
import { startupBanner } from '../apps/hub/src/startup/startup-banner.ts'

const config = { ...loadConfig(), countsLoopback: true, maxDescriptors: 1_000 }
await using hub = await createHub(config, createLog(config.logLevel))
process.stdout.write(startupBanner(hub, config, false))
await once(process, 'SIGTERM')
