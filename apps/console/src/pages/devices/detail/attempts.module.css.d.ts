declare const styles: {
  readonly attempts: string
}
export default styles
