import { handler } from '../../../platform/pipeline/handler.ts'

/** Sets whether connected devices of a project may announce their next certificate. */
export const projects_SetCertificateRenewal = handler(
  'projects_SetCertificateRenewal',
  async ({ tx, events, changed }, { projectId, isAllowed }) => {
    const { before } = await tx
      .selectFrom('project')
      .where('project_id', '=', projectId)
      .select('certificate_renewal as before')
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    if (before === isAllowed) return {}
    await tx
      .updateTable('project')
      .set({ certificate_renewal: isAllowed })
      .where('project_id', '=', projectId)
      .execute()
    await events.emit('projects_CertificateRenewalChanged', { projectId, isAllowed })
    changed('projects')
    return {}
  },
)
