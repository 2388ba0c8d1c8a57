import { handler } from '../../../platform/pipeline/handler.ts'

/** Replaces the labels that a deployment token gives to the devices that enrol with it from then on. */
export const projects_SetDeploymentTokenLabels = handler(
  'projects_SetDeploymentTokenLabels',
  async ({ tx, events, scope, changed }, { tokenId, labels }) => {
    const before = await tx
      .selectFrom('deployment_token')
      .where('token_id', '=', tokenId)
      .select('labels')
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    await tx
      .updateTable('deployment_token')
      .set({ labels: Object.keys(labels).length > 0 ? JSON.stringify(labels) : null })
      .where('token_id', '=', tokenId)
      .execute()
    await events.emit(
      'projects_DeploymentTokenLabelsChanged',
      { projectId: scope.projectId!, tokenId, labels },
      { old: { labels: before.labels ?? {} } },
    )
    changed('tokens')
    return {}
  },
)
