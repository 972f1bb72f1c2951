<%@ page session="false" trimDirectiveWhitespaces="true" %><%--
  Keeps a processor busy until somebody asks for `?release`, for `ms` or a minute at most.
--%><%!
  private static volatile boolean isReleased;
%><%
  if (request.getParameter("release") != null) isReleased = true;
  String ms = request.getParameter("ms");
  long end = System.nanoTime() + (ms == null ? 60_000 : Long.parseLong(ms)) * 1_000_000L;
  long sum = 0;
  while (!isReleased && System.nanoTime() < end) for (int i = 0; i < 1_000_000; i++) sum += i * sum + 1;
  out.print("released " + sum);
%>
