<%@ page session="false" trimDirectiveWhitespaces="true" import="java.util.concurrent.CountDownLatch" %><%--
  Holds its thread until somebody asks for `?release`.
--%><%!
  private static final CountDownLatch RELEASED = new CountDownLatch(1);
%><%
  if (request.getParameter("release") != null) RELEASED.countDown();
  else RELEASED.await();
  out.print("released");
%>
