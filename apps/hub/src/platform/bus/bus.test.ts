import { scratchDatabase } from '@muster/testkit'
import { describe } from 'vitest'
import { InProcessBus } from './in-process-bus.ts'
import { postgresConnect } from './postgres-connection.ts'
import { RemoteBus } from './remote-bus.ts'
import { testBus } from './testing/conformance.ts'

describe('the bus in one process', () => {
  testBus(
    async () => {
      const nodes = new Set<InProcessBus>()
      return {
        open: (nodeId, log) => new InProcessBus({ nodeId, log, nodes }),
        async [Symbol.asyncDispose]() {},
      }
    },
    { canBeCut: false },
  )
})

describe('the bus over PostgreSQL', () => {
  testBus(
    async () => {
      const database = await scratchDatabase()
      return {
        open(nodeId, log) {
          const connect = postgresConnect(database.connection, 'test')
          const bus = new RemoteBus({ kind: 'PostgreSQL', nodeId, log, connect, intervalMs: 20 })
          void bus.start()
          return bus
        },
        async cut() {
          await database.query(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'muster bus'",
          )
        },
        [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
      }
    },
    { canBeCut: true },
  )
})
