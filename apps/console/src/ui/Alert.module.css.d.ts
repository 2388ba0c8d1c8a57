declare const styles: {
  readonly alert: string
}
export default styles
