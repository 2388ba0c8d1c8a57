declare const styles: {
  readonly advice: string
  readonly detail: string
  readonly failed: string
  readonly result: string
}
export default styles
