import { once } from 'node:events'
import type { Server } from 'node:http'
import type { Config } from '../config/config.ts'
import type { InstanceKey } from '../credentials/instance-key.ts'
import type { Health } from '../database/server/readiness.ts'
import type { Logger } from '../runtime/log.ts'
import { Metrics } from './metrics.ts'
import { createOperatorListener, type OperatorAnswer } from './operator-listener.ts'
import { loadOperatorToken } from './operator-token.ts'

type OperatorOptions = {
  config: Config
  instanceKey: InstanceKey
  health: () => Promise<Health>
  log: Logger
}

/** Listener for operators (metrics and health), and the metrics that it serves. */
export type Operator = AsyncDisposable & {
  server: Server
  metrics: Metrics
  /** Starts to listen. Rejects with the error of the operating system. */
  listen(): Promise<void>
}

/**
 * Creates the listener with `/metrics` and `/health`. Both respond as soon as it listens, even while the hub starts or stops. Throws
 * `ConfigError` when its token or certificate cannot be used.
 */
export async function createOperator({
  config,
  instanceKey,
  health,
  log,
}: OperatorOptions): Promise<Operator> {
  const metrics = new Metrics()
  const server = createOperatorListener({
    config,
    instanceKey,
    token: await loadOperatorToken(config.dataDir, config.operatorToken),
    routes: {
      '/metrics': async () => ({
        status: 200,
        contentType: 'text/plain; version=0.0.4; charset=utf-8',
        body: await metrics.text(await health()),
      }),
      '/health': async () => healthAnswer(await health()),
    },
    log,
  })
  return {
    server,
    metrics,
    async listen() {
      await once(server.listen(config.operatorPort, config.operatorHost), 'listening')
    },
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      metrics[Symbol.dispose]()
    },
  }
}

function healthAnswer(health: Health): OperatorAnswer {
  return {
    status: health.isReady ? 200 : 503,
    contentType: 'application/json; charset=utf-8',
    body: `${JSON.stringify(health)}\n`,
  }
}
