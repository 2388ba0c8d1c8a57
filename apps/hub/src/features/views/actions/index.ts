// Written by `npm run gen` from the files of this folder.
export { views_Create } from './Create.ts'
export { views_Delete } from './Delete.ts'
export { views_Get } from './Get.ts'
export { views_Query } from './Query.ts'
export { views_Set } from './Set.ts'
