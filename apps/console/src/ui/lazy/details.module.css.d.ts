declare const styles: {
  readonly actions: string
  readonly details: string
  readonly facts: string
}
export default styles
