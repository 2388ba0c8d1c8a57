declare const styles: {
  readonly actions: string
  readonly states: string
  readonly table: string
}
export default styles
